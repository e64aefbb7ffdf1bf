//! The pages of the program itself: what only its start needed does not stay in memory.
//!
//! The system maps 64 KiB of a program around each place that it reaches. Relocations, and the descriptions of all verbs and
//! options that the command line is read with, are half of what a small run ever touches of it, and none of it comes again.

/// Lets go of all pages of the program and its libraries that were only read. Those that are needed again come back from the
/// page cache when they are touched.
pub fn let_go_of_pages() {
    #[cfg(target_os = "linux")]
    // SAFETY: the callback gets the headers of a loaded object, and touches nothing after it returns.
    unsafe {
        libc::dl_iterate_phdr(Some(let_go_of_object), std::ptr::null_mut());
    }
}

#[cfg(target_os = "linux")]
unsafe extern "C" fn let_go_of_object(
    info: *mut libc::dl_phdr_info,
    _: libc::size_t,
    _: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the caller hands over a valid description, whose headers live as long as the object is loaded.
    let (info, headers) = unsafe {
        let info = &*info;
        (info, std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)))
    };
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    for segment in headers {
        // What may be written holds relocated addresses, which are nowhere else; that includes what is protected afterwards.
        if segment.p_type != libc::PT_LOAD || segment.p_flags & libc::PF_W != 0 {
            continue;
        }
        let begin = info.dlpi_addr + segment.p_vaddr;
        let (first, end) = (begin / page * page, (begin + segment.p_filesz) / page * page);
        if end > first {
            // SAFETY: these pages are those of a file and were never written, so that what comes back is what was there.
            unsafe { libc::madvise(first as *mut libc::c_void, (end - first) as usize, libc::MADV_DONTNEED) };
        }
    }
    0
}
