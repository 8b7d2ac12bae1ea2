use super::*;

fn job() -> CompileJob {
    CompileJob::new("extern \"C\" __global__ void k() {}", "k.hx::k", "sm_90a")
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
    let key = Cache::key(&job(), (13, 0));
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
    let mut keys =
        vec![Cache::key(&job(), (13, 0)), Cache::key(&job(), (13, 1)), Cache::key(&job(), (12, 0))];
    for change in changes {
        let mut changed = job();
        change(&mut changed);
        keys.push(Cache::key(&changed, (13, 0)));
    }
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count);
    assert_eq!(Cache::key(&job(), (13, 0)), Cache::key(&job(), (13, 0)));
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
    let other = Cache::key(&job(), (13, 1));
    let path = cache.entry_path(&other);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::rename(cache.entry_path(&key), path).unwrap();
    let Lookup::Damaged(warning) = cache.get(&other) else { panic!("not noticed") };
    assert_eq!(warning.reason, "the entry is damaged (it belongs to another key) and was dropped");
}

#[test]
fn an_unwritable_folder_is_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    // A file where the folder should be fails for every user, root included.
    let in_the_way = dir.path().join("kernels");
    fs::write(&in_the_way, "").unwrap();
    let cache = Cache::open(in_the_way.join("deeper"));
    let warning = cache.put(&Cache::key(&job(), (13, 0)), Want::Cubin, &compiled()).unwrap_err();
    assert!(warning.reason.starts_with("cannot be written: "), "{warning}");
    assert_eq!(cache.size(), CacheSize::default());
}

#[test]
fn a_changed_library_is_asked_again() {
    let dir = tempfile::tempdir().unwrap();
    let library = dir.path().join("libnvrtc.so.13");
    fs::write(&library, "one").unwrap();
    let files = NvrtcFiles { library: library.clone(), builtins: None };
    let cache = Cache::open(dir.path().join("kernels"));
    assert_eq!(cache.nvrtc_version(&files), None);
    cache.remember_nvrtc(&files, (13, 0)).unwrap();
    assert_eq!(cache.nvrtc_version(&files), Some((13, 0)));
    fs::write(&library, "another").unwrap();
    assert_eq!(cache.nvrtc_version(&files), None);
    fs::write(cache.dir().join(VERSIONS_FILE), "no json").unwrap();
    cache.remember_nvrtc(&files, (13, 1)).unwrap();
    assert_eq!(cache.nvrtc_version(&files), Some((13, 1)));
}
