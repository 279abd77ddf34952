//! Whether a folder or file is where something else is mounted.
//!
//! A mount leads out of a workspace as a link does, and no path shows it: `..` can be mounted on a
//! folder. Only Linux tells; elsewhere nothing is taken for a mount.

use std::io;

/// Whether something is mounted on what is open here.
#[cfg(target_os = "linux")]
pub(super) fn is_mounted_on(file: &impl rustix::fd::AsFd) -> io::Result<bool> {
    use rustix::fs::{AtFlags, StatxAttributes, StatxFlags, statx};

    let found = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::empty())?;
    // Kernels before 5.8 do not tell, and do not set it in the mask.
    let told = found.stx_attributes & found.stx_attributes_mask;
    Ok(told.contains(StatxAttributes::MOUNT_ROOT))
}

/// Whether something is mounted on what is open here.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_mounted_on<T>(_file: &T) -> io::Result<bool> {
    Ok(false)
}
