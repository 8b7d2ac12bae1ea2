use super::*;
use crate::protocol::NvrtcFiles;

fn job() -> CompileJob {
    CompileJob::new("extern \"C\" __global__ void k() {}", "k.hx::k", "sm_90a")
}

fn compiler(text: &str) -> CompilerId {
    CompilerId::of_bytes(text.as_bytes())
}

fn compiled() -> Compiled {
    let log = "ptxas info    : Compiling entry function 'k' for 'sm_90a'\nptxas info    : Used 4 registers\n";
    Compiled {
        code: vec![0x7f, b'E', b'L', b'F', 0, 255],
        log: log.to_owned(),
        kernels: log::kernel_resources(log),
        warnings: Vec::new(),
        nvrtc_version: (13, 0),
    }
}

fn filled() -> (tempfile::TempDir, Cache, String) {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path().join("kernels"));
    let key = Cache::key(&job(), &compiler("13.0"));
    assert_eq!(cache.get(&key), Lookup::Miss);
    cache.put(&key, Want::Cubin, &compiled()).unwrap();
    (dir, cache, key)
}

#[test]
fn what_goes_in_comes_out() {
    let (_dir, cache, key) = filled();
    assert_eq!(cache.get(&key), Lookup::Hit(Box::new(compiled())));
    let size = cache.size();
    assert_eq!(size.entries, 1);
    assert_eq!(cache.clear().unwrap(), size);
    assert_eq!(cache.get(&key), Lookup::Miss);
}

#[test]
fn every_part_of_the_job_is_in_the_key() {
    let changes: [fn(&mut CompileJob); 6] = [
        |job| job.source.push(' '),
        |job| job.file_name.push('x'),
        |job| job.arch = "sm_80".to_owned(),
        |job| job.want = Want::Ptx,
        |job| job.options.push("-G".to_owned()),
        |job| job.options = vec![job.options.concat()],
    ];
    let mut keys = vec![
        Cache::key(&job(), &compiler("13.0")),
        Cache::key(&job(), &compiler("13.1")),
        Cache::key(&job(), &compiler("12.0")),
    ];
    for change in changes {
        let mut changed = job();
        change(&mut changed);
        keys.push(Cache::key(&changed, &compiler("13.0")));
    }
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count);
    assert_eq!(Cache::key(&job(), &compiler("13.0")), Cache::key(&job(), &compiler("13.0")));
}

#[test]
fn a_flipped_bit_anywhere_is_noticed() {
    let (_dir, cache, key) = filled();
    let path = cache.entry_path(&key);
    let good = fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&path, &bad).unwrap();
        assert!(matches!(cache.get(&key), Lookup::Damaged(_)), "flip at {at}");
        assert!(!path.exists());
    }
}

#[test]
fn a_torn_entry_is_noticed() {
    let (_dir, cache, key) = filled();
    let path = cache.entry_path(&key);
    let good = fs::read(&path).unwrap();
    for length in 0..good.len() {
        fs::write(&path, &good[..length]).unwrap();
        assert!(matches!(cache.get(&key), Lookup::Damaged(_)), "cut to {length}");
    }
    fs::write(&path, [good.as_slice(), b"more"].concat()).unwrap();
    assert!(matches!(cache.get(&key), Lookup::Damaged(_)));
}

#[test]
fn an_entry_under_a_foreign_name_is_noticed() {
    let (_dir, cache, key) = filled();
    let other = Cache::key(&job(), &compiler("13.1"));
    let path = cache.entry_path(&other);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::rename(cache.entry_path(&key), path).unwrap();
    let Lookup::Damaged(warning) = cache.get(&other) else { panic!("not noticed") };
    assert_eq!(warning.reason, "the entry is damaged (it belongs to another key) and was dropped");
}

#[test]
fn an_unwritable_folder_is_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    // A file in place of the folder makes the write fail for every user, root included.
    let in_the_way = dir.path().join("kernels");
    fs::write(&in_the_way, "").unwrap();
    let cache = Cache::open(in_the_way.join("deeper"));
    let warning = cache.put(&Cache::key(&job(), &compiler("13.0")), Want::Cubin, &compiled()).unwrap_err();
    assert!(warning.reason.starts_with("cannot be written: "), "{warning}");
    assert_eq!(cache.size(), CacheSize::default());
}

#[test]
fn the_content_of_the_libraries_is_the_compiler() {
    let dir = tempfile::tempdir().unwrap();
    let library = dir.path().join("libnvrtc.so.13");
    let builtins = dir.path().join("libnvrtc-builtins.so.13.0");
    fs::write(&library, "one").unwrap();
    fs::write(&builtins, "builtins").unwrap();
    let files = NvrtcFiles { library: library.clone(), builtins: Some(builtins.clone()) };
    let cache = Cache::open(dir.path().join("kernels"));
    let id = |files: &NvrtcFiles| cache.compiler_id(files).unwrap().0;
    let first = id(&files);
    assert_eq!(id(&files), first);
    assert_eq!(cache.known_compilers(), std::slice::from_ref(&first));
    // The version in the name does not identify the content.
    let moved = dir.path().join("libnvrtc.so.12");
    fs::copy(&library, &moved).unwrap();
    assert_eq!(id(&NvrtcFiles { library: moved, ..files.clone() }), first);
    fs::write(&library, "two").unwrap();
    let second = id(&files);
    assert_ne!(second, first);
    assert_ne!(id(&NvrtcFiles { builtins: None, ..files.clone() }), second);
    fs::write(&builtins, "others").unwrap();
    assert_ne!(id(&files), second);
    // If the remembered hashes are damaged, the libraries are hashed again.
    fs::write(cache.dir().join(compilers::FILE), "no json").unwrap();
    fs::write(&library, "one").unwrap();
    fs::write(&builtins, "builtins").unwrap();
    assert_eq!(id(&files), first);
    fs::remove_file(&library).unwrap();
    assert!(cache.compiler_id(&files).is_err());
}

/// A replaced library of the same size and time is recognized by its inode.
#[cfg(unix)]
#[test]
fn a_library_that_was_replaced_is_hashed_again() {
    let dir = tempfile::tempdir().unwrap();
    let library = dir.path().join("libnvrtc.so.13");
    fs::write(&library, "one").unwrap();
    let modified = fs::metadata(&library).unwrap().modified().unwrap();
    let files = NvrtcFiles { library: library.clone(), builtins: None };
    let cache = Cache::open(dir.path().join("kernels"));
    let first = cache.compiler_id(&files).unwrap().0;
    let other = dir.path().join("other");
    fs::write(&other, "two").unwrap();
    fs::File::options().write(true).open(&other).unwrap().set_modified(modified).unwrap();
    fs::rename(&other, &library).unwrap();
    assert_ne!(cache.compiler_id(&files).unwrap().0, first);
}

/// A project may come with a cache. Hashes remembered in it could pass one library off as another, so they are not used.
#[test]
fn what_is_remembered_is_the_users() {
    let dir = tempfile::tempdir().unwrap();
    let library = dir.path().join("libnvrtc.so.13");
    fs::write(&library, "one").unwrap();
    let files = NvrtcFiles { library, builtins: None };
    let kernels = dir.path().join("project/kernels");
    let planted = Cache::open(&kernels);
    planted.compiler_id(&files).unwrap();
    let text = fs::read_to_string(kernels.join(compilers::FILE)).unwrap();
    let id = planted.known_compilers()[0].as_str().to_owned();
    fs::write(kernels.join(compilers::FILE), text.replace(&id, &"0".repeat(64))).unwrap();
    for memory in [None, Some(dir.path().join("user"))] {
        let cache = Cache::of_project(&kernels, memory);
        assert_eq!(cache.known_compilers(), []);
        assert_eq!(cache.compiler_id(&files).unwrap().0.as_str(), id);
    }
}

#[cfg(unix)]
mod others {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn allow(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Returns the warning of the cache about an entry that it does not use.
    fn foreign(cache: &Cache, key: &str) -> String {
        let Lookup::Foreign(warning) = cache.get(key) else { panic!("used: {:?}", cache.get(key)) };
        warning.reason
    }

    #[test]
    fn an_entry_that_others_may_write_is_not_used() {
        let (_dir, cache, key) = filled();
        let entry = cache.entry_path(&key);
        let folder = entry.parent().unwrap();
        allow(&entry, 0o666);
        assert_eq!(foreign(&cache, &key), "is not used: everybody may write it, which `chmod go-w` changes");
        allow(&entry, 0o620);
        assert_eq!(foreign(&cache, &key), "is not used: its group may write it, which `chmod go-w` changes");
        allow(&entry, 0o600);
        allow(folder, 0o777);
        assert_eq!(
            foreign(&cache, &key),
            "is not used: of its folder: everybody may write it, which `chmod go-w` changes"
        );
        // The cache stores nothing there either.
        assert!(
            cache
                .put(&key, Want::Cubin, &compiled())
                .unwrap_err()
                .reason
                .starts_with("is not used: of its folder")
        );
        allow(folder, 0o700);
        allow(cache.dir(), 0o777);
        assert!(
            foreign(&cache, &key).starts_with("is not used: of the cache's folder: everybody may write it")
        );
        allow(cache.dir(), 0o755);
        assert!(matches!(cache.get(&key), Lookup::Hit(_)));
    }

    #[test]
    fn no_link_is_followed() {
        let (dir, cache, key) = filled();
        let entry = cache.entry_path(&key);
        let elsewhere = dir.path().join("elsewhere");
        fs::rename(&entry, &elsewhere).unwrap();
        symlink(&elsewhere, &entry).unwrap();
        assert!(foreign(&cache, &key).starts_with("is not used: it is not a file of ours"));
        // Storing replaces the link; its target stays unchanged.
        let before = fs::read(&elsewhere).unwrap();
        let other = Compiled { code: b"other".to_vec(), ..compiled() };
        cache.put(&key, Want::Cubin, &other).unwrap();
        assert_eq!(cache.get(&key), Lookup::Hit(Box::new(other)));
        assert_eq!(fs::read(&elsewhere).unwrap(), before);
        // A link in place of a folder of entries is not used.
        let folder = entry.parent().unwrap();
        let moved = dir.path().join("moved");
        fs::rename(folder, &moved).unwrap();
        symlink(&moved, folder).unwrap();
        assert_eq!(foreign(&cache, &key), "is not used: its folder is a link");
        assert_eq!(cache.size(), CacheSize::default());
        assert_eq!(cache.clear().unwrap(), CacheSize::default());
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 1);
    }

    #[test]
    fn names_of_temporary_files_cannot_be_foreseen() {
        let (_dir, cache, key) = filled();
        let folder = cache.entry_path(&key).parent().unwrap().to_owned();
        // The leftover of an interrupted writer is removed, and a file that is not ours stays.
        fs::write(folder.join(".new-abc"), "half").unwrap();
        fs::write(folder.join("mine.kernel"), "mine").unwrap();
        assert_eq!(cache.clear().unwrap().entries, 1);
        let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["mine.kernel"]);
    }
}
