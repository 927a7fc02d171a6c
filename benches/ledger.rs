//! What the ledger's operations take, by size.

mod ledger_support;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use kctl::domain::fold::Kind;
use kctl::ports::ledger::{Access, Ledgers};

use ledger_support::{created, filled, open, sqlite, task};

const SIZES: [u32; 3] = [10, 1_000, 10_000];

fn by_size(criterion: &mut Criterion) {
    for tasks in SIZES {
        let dir = filled(tasks, 1).expect("it fills");
        let mut group = criterion.benchmark_group("ledger");
        group.bench_function(BenchmarkId::new("open", tasks), |bench| bench.iter(|| open(&dir, Access::Read)));
        let reader = open(&dir, Access::Read);
        let id = task(tasks / 2).to_string();
        group.bench_function(BenchmarkId::new("load", tasks), |bench| {
            bench.iter(|| black_box(reader.load(Kind::Task, &id).expect("it loads")));
        });
        group.bench_function(BenchmarkId::new("ready", tasks), |bench| {
            bench.iter(|| black_box(reader.ready(None, 50).expect("it reads")));
        });
        let mut writer = open(&dir, Access::Write);
        let mut n = 1_000_000;
        group.bench_function(BenchmarkId::new("append", tasks), |bench| {
            bench.iter(|| {
                n += 1;
                writer.begin().expect("the lock is free");
                writer.append(&[created(n)]).expect("it appends");
                writer.commit().expect("it commits");
            });
        });
    }
}

fn verify(criterion: &mut Criterion) {
    let dir = filled(20_000, 5).expect("it fills");
    let mut group = criterion.benchmark_group("ledger");
    group.sample_size(10);
    group.bench_function("verify/100000 events", |bench| {
        bench.iter(|| assert!(sqlite().verify(dir.path()).expect("it reads").problems.is_empty()));
    });
}

criterion_group!(benches, by_size, verify);
criterion_main!(benches);
