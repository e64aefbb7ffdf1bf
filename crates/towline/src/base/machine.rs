//! Facts about the machine and this process.
use std::path::Path;

/// The most memory that this process has had resident so far, in bytes.
pub fn peak_memory_bytes() -> u64 {
    let status = procfs::process::Process::myself().and_then(|me| me.status());
    status.ok().and_then(|status| status.vmhwm).unwrap_or(0) * 1024
}

/// A budget that leaves the machine usable: half of what is free, the limits of the control group included, and at most
/// 4 GiB.
pub fn default_memory_bytes() -> u64 {
    use procfs::Current;
    let free = procfs::Meminfo::current().ok().and_then(|memory| memory.mem_available).unwrap_or(2 << 30);
    let free = control_group_limit().map_or(free, |limit| free.min(limit));
    (free / 2).clamp(64 << 20, 4 << 30)
}

/// Gives memory that is free back to the system. An allocator keeps it where small pieces that are still used lie
/// between, and the process would be larger than what the budget has counted: 120 MiB instead of 84 when ten classes on
/// one index went on by blocks, in a budget of 63.
pub fn give_back_free_memory() {
    // SAFETY: only pages that no allocation uses are given back.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Processors that this process may use.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// The memory limit of the process's control group, version 2 or 1, if it has one.
fn control_group_limit() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let read = |path: &Path| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let limits = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, group) = (fields.next()?, fields.next()?, fields.next()?.trim_start_matches('/'));
        match controllers {
            "" => read(&Path::new("/sys/fs/cgroup").join(group).join("memory.max")),
            _ if controllers.split(',').any(|c| c == "memory") => {
                read(&Path::new("/sys/fs/cgroup/memory").join(group).join("memory.limit_in_bytes"))
            }
            _ => None,
        }
    });
    limits.min()
}
