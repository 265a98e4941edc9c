//! The computer: what it is, which process of it this is, where it keeps data sets, and what it has left of memory and disks.

use onebasin::experiment::Owner;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// This process, by its machine and, in a job of Slurm or a task of HyperQueue, by its name there.
pub fn owner() -> Owner {
    let text = |file: &str| Some(fs::read_to_string(file).ok()?.trim().to_owned()).filter(|text| !text.is_empty());
    let number = |name: &str| env::var(name).ok().filter(|text| !text.is_empty());
    let slurm = number("SLURM_JOB_ID").map(|own| {
        let part = number("SLURM_ARRAY_JOB_ID").zip(number("SLURM_ARRAY_TASK_ID"));
        format!("Slurm job {}", part.map_or(own, |(array, index)| format!("{array}_{index}")))
    });
    let hyperqueue = number("HQ_TASK_ID").map(|task| format!("HyperQueue task {task}"));
    Owner {
        machine: text("/proc/sys/kernel/hostname").unwrap_or_else(|| "this machine".to_owned()),
        boot: text("/proc/sys/kernel/random/boot_id"),
        process: process::id(),
        job: hyperqueue.or(slurm),
    }
}

/// Processor, threads and operating system in a few words: what times depend on.
pub fn describe(threads: usize) -> String {
    let model = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let model = model.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let threads = if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
    format!("{threads}, {model}, {}", std::env::consts::OS)
}

/// The folder of the data sets, unless somebody names another: `onebasin` in the platform's folder for data.
///
/// Whoever has no home has the data in the current folder.
pub fn data_folder() -> PathBuf {
    dirs::data_dir().unwrap_or_default().join("onebasin")
}

/// Bytes of memory that can be had without swapping, within the limit of a container; only Linux tells.
pub fn free_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let number = |file: &str| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    let container = number("/sys/fs/cgroup/memory.max").zip(number("/sys/fs/cgroup/memory.current"));
    // What is kept of files is given back as soon as it is needed.
    let stat = fs::read_to_string("/sys/fs/cgroup/memory.stat").unwrap_or_default();
    let of_files = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    let cached: u64 = ["active_file ", "inactive_file "].into_iter().filter_map(of_files).sum();
    let free = 1024 * kibibytes;
    Some(container.map_or(free, |(limit, used)| free.min((limit + cached).saturating_sub(used))))
}

/// Bytes that this user may write to the disk of a folder, which need not be there yet.
#[cfg(unix)]
pub fn free_disk(folder: &Path) -> Option<u64> {
    let whole = std::path::absolute(folder).ok()?;
    let there = whole.ancestors().find(|folder| folder.exists())?;
    let disk = rustix::fs::statvfs(there).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Nobody tells.
#[cfg(not(unix))]
pub fn free_disk(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_knows_where_it_runs() {
        let Owner { machine, boot, process, .. } = owner();
        assert!(!machine.is_empty() && boot.is_some_and(|boot| boot.len() == 36) && process > 1);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn there_is_some_of_everything() {
        assert!(free_memory().is_some_and(|bytes| bytes > 1 << 20));
        for folder in [".", "/", "no/such/folder"] {
            assert!(free_disk(Path::new(folder)).is_some(), "{folder}");
        }
    }
}
