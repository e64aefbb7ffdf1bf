//! A progress bar on standard error: shown on a terminal, silent otherwise.
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar that follows a counter of bytes until it is dropped.
pub struct Bar {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bar {
    /// Follows `done` up to `total`, unless `quiet` or standard error is not a terminal.
    pub fn follow(quiet: bool, total: Option<u64>, done: impl Fn() -> u64 + Send + 'static) -> Bar {
        let stop = Arc::new(AtomicBool::new(false));
        if quiet || !std::io::stderr().is_terminal() {
            return Bar { stop, thread: None };
        }
        let flag = stop.clone();
        let thread = std::thread::spawn(move || {
            let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
            let known = "{wide_bar} {bytes}/{total_bytes}  {bytes_per_sec}  ETA {eta}";
            let template = if total.is_some() { known } else { "{spinner} {bytes}  {bytes_per_sec}" };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            while !flag.load(Ordering::Relaxed) {
                bar.set_position(done());
                std::thread::sleep(Duration::from_millis(100));
            }
            bar.finish_and_clear();
        });
        Bar { stop, thread: Some(thread) }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
