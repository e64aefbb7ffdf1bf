//! What the program itself takes of the memory: its code and constants, its libraries, stacks, and pages of the
//! allocator.
//!
//! The system maps 64 KiB of a program around each place that it reaches. Relocations, and the descriptions of all
//! verbs and options that the command line is read with, are half of what a small run ever touches of it, and none of
//! it comes again: 22 MiB for a run with 3 MiB of data became 16 when their pages were let go.

/// Of the code and constants of the program, no run has mapped more than this part: 1 / `CODE_PART`.
const CODE_PART: u64 = 3;
/// Libraries of the system, stacks, what an allocator keeps between two uses, and small things that nobody counts: 4
/// MiB. As much again is for what a control group counts besides the process, page tables and pages of files on their
/// way: without it, code is evicted while it runs.
const RUNTIME_BYTES: u64 = 8 << 20;

/// What the program itself takes at most, beside what grows with data. It is the same for every run of one program, so
/// that plans do not change from run to run.
pub fn resident_bytes() -> u64 {
    let segments = own_segments();
    segments.read_only_bytes / CODE_PART + segments.written_bytes + RUNTIME_BYTES
}

/// Lets go of all pages of the program and its libraries that were only read. Those that are needed again come back
/// from the page cache when they are touched.
pub fn let_go_of_pages() {
    for_each_segment(|_, segment| {
        if !segment.is_written {
            let page = page_bytes();
            let (first, end) = (segment.begin / page * page, segment.end / page * page);
            // SAFETY: these pages are those of a file and were never written, so that what comes back is what was
            // there.
            unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_DONTNEED) };
        }
    });
}

/// A part of the program or of a library, by address.
struct Segment {
    begin: usize,
    end: usize,
    /// Whether it is ever written: it holds relocated addresses, even if it is protected afterwards.
    is_written: bool,
}

/// How large the parts of the program are, without libraries.
#[derive(Default)]
struct Sizes {
    read_only_bytes: u64,
    written_bytes: u64,
}

fn own_segments() -> Sizes {
    let mut sizes = Sizes::default();
    for_each_segment(|object, segment| {
        // The program is the first.
        if object == 0 {
            let bytes = (segment.end - segment.begin) as u64;
            *if segment.is_written { &mut sizes.written_bytes } else { &mut sizes.read_only_bytes } += bytes;
        }
    });
    sizes
}

fn page_bytes() -> usize {
    // SAFETY: asks for a number.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Calls `each` with the number of the loaded object and the segment.
fn for_each_segment(mut each: impl FnMut(usize, Segment)) {
    type Each<'a> = (usize, &'a mut dyn FnMut(usize, Segment));

    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: libc::size_t, data: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the caller hands over a valid description, whose headers live as long as the object is loaded, and
        // the data that it was given.
        let (info, headers, (object, each)) = unsafe {
            let info = &*info;
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
            (info, headers, &mut *data.cast::<Each>())
        };
        for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD) {
            let begin = (info.dlpi_addr + header.p_vaddr) as usize;
            let end = begin + header.p_memsz as usize;
            each(*object, Segment { begin, end, is_written: header.p_flags & libc::PF_W != 0 });
        }
        *object += 1;
        0
    }

    let mut data: Each = (0, &mut each);
    // SAFETY: `visit` gets `data`, which outlives the call, and keeps nothing of it.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut data).cast()) };
}
