//! The memory allocator gives back what is freed.
//!
//! Left alone, glibc keeps an arena per thread and raises the size from which on memory goes back to the system as soon
//! as a large buffer is freed. What the reading threads held then stays with the process while blocks are written, and
//! the peak is far above what the budget has counted: 338 MiB for a budget of 256 MiB on a file of short rows, 177 MiB
//! with the limits below, at the same speed.

/// From this size on a buffer is mapped on its own and goes back when it is freed. It is the allocator's own default;
/// setting it keeps it.
#[cfg(target_env = "gnu")]
const MAPPED_BYTES: libc::c_int = 128 << 10;
#[cfg(target_env = "gnu")]
const ARENAS: libc::c_int = 2;

/// To be called before the first thread is started.
pub fn give_back_freed_memory() {
    // SAFETY: only settings of the allocator change, and no other thread runs yet. A refused setting changes nothing.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
        libc::mallopt(libc::M_ARENA_MAX, ARENAS);
    }
}
