//! Keeping memory close to the processor: asking ahead, and large pages for large tables.

/// Brings the cache line of `slice[i]` closer; nothing happens if there is no such item.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], i: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: prefetching never faults and changes nothing, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().wrapping_add(i).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, i);
}

/// `n` zeros in large pages where the system has them. Random access to a table of many megabytes otherwise spends more
/// time on finding the page than on the access: packing the kernel data looked up features three times as slowly.
pub fn large_zeroed<T: Clone + Default>(n: usize) -> Vec<T> {
    // The allocator hands out a table of this size as fresh zero pages, none of which has been touched yet.
    let table = vec![T::default(); n];
    let page = 4096;
    let begin = (table.as_ptr() as usize).next_multiple_of(page);
    let end = (table.as_ptr() as usize + size_of_val(&table[..])) / page * page;
    if end > begin {
        // SAFETY: the range lies inside the table; the advice changes how it is backed, never what it holds.
        unsafe { libc::madvise(begin as *mut libc::c_void, end - begin, libc::MADV_HUGEPAGE) };
    }
    table
}
