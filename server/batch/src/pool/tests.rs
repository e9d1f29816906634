use std::sync::mpsc;

use super::*;

/// Work that calls a function for every slice.
struct Calls<F>(F);

impl<F: FnMut(&Slice) -> Flow + Send + 'static> Work for Calls<F> {
    fn advance(&mut self, slice: &Slice) -> Flow {
        (self.0)(slice)
    }
}

/// Returns a pool of one thread, and the blocker of this thread.
fn blocked_pool() -> (Pool, PoolBlocker) {
    let pool = Pool::new(1).expect("a thread starts");
    let blocker = pool.block_threads();
    (pool, blocker)
}

impl Pool {
    /// Returns a pool without threads. Each call of `advance` runs one slice.
    pub(crate) fn stepped() -> Self {
        let pool = Self { shared: Arc::new(Shared { threads: 1, ..Shared::default() }) };
        pool.shared.lock().started = true;
        pool
    }

    /// Runs one slice of queued work; returns false if none is queued.
    pub(crate) fn advance(&self) -> bool {
        let next = self.shared.lock().next();
        next.map(|(account, task)| self.shared.run_slice(&account, task)).is_some()
    }
}

#[tokio::test]
async fn a_task_for_many_numbers_returns_its_results_in_order_or_none() {
    let pool = Pool::new(3).expect("threads start");
    let owner = pool.new_group().work_queue();
    let squares = owner.parallel_map(3, 1_000, |number| number * number).await;
    assert_eq!(squares, Some((0..1_000).map(|number| number * number).collect()));
    assert_eq!(owner.parallel_map(3, 0, |number| number).await, Some(vec![]));
    let failed = owner.parallel_map(2, 10, |number| assert_ne!(number, 7)).await;
    assert_eq!(failed, None, "one call panicked");
}

#[tokio::test]
async fn a_task_ends_when_its_caller_no_longer_waits() {
    let pool = Pool::new(1).expect("a thread starts");
    let owner = pool.new_group().work_queue();
    let (began, mut begins) = tokio::sync::mpsc::unbounded_channel();
    let endless = owner.parallel_map(1, 1 << 26, move |number| {
        let _ = began.send(number);
    });
    tokio::select! {
        _ = endless => unreachable!("it has too much to do"),
        _ = begins.recv() => {}
    }
    // The pool drops the sender together with the task.
    while begins.recv().await.is_some() {}
}

/// Returns work that takes this many slices and sends its name in each.
fn sending(name: &'static str, mut slices: u32, sender: &mpsc::Sender<&'static str>) -> impl Work {
    let sender = sender.clone();
    Calls(move |_: &Slice| {
        let _ = sender.send(name);
        slices -= 1;
        if slices == 0 { Flow::Done } else { Flow::Continue }
    })
}

#[test]
fn owners_take_turns_slice_by_slice() {
    let (pool, blocker) = blocked_pool();
    let (sender, received) = mpsc::channel();
    let group = pool.new_group();
    let (one, two) = (group.work_queue(), group.work_queue());
    // Each slice counts the same time, so the result does not depend on the clock.
    for (owner, name) in [(&one, "one"), (&two, "two")] {
        let (sender, account) = (sender.clone(), Arc::clone(&owner.account));
        let mut slices = 3;
        owner.spawn(Calls(move |_: &Slice| {
            let _ = sender.send(name);
            account.used.fetch_add(1_000_000, Ordering::Relaxed);
            slices -= 1;
            if slices == 0 { Flow::Done } else { Flow::Continue }
        }));
    }
    drop((sender, blocker));
    let order: Vec<_> = received.iter().collect();
    for pair in order.chunks(2) {
        assert_ne!(pair[0], pair[1], "{order:?}");
    }
}

#[test]
fn an_owner_that_has_used_less_time_runs_first() {
    let (pool, blocker) = blocked_pool();
    let (sender, received) = mpsc::channel();
    let group = pool.new_group();
    let heavy: Vec<WorkQueue> = (0..50).map(|_| group.work_queue()).collect();
    for owner in &heavy {
        owner.account.used.store(10_000_000, Ordering::Relaxed);
        owner.spawn(sending("heavy", 3, &sender));
    }
    let light = group.work_queue();
    light.spawn(sending("light", 1, &sender));
    drop((sender, blocker));
    assert_eq!(received.recv(), Ok("light"));
    assert_eq!(received.iter().count(), 150);
}

/// No owner has used any time, so only the groups decide.
#[test]
fn a_caller_with_many_owners_gets_no_more_time_than_a_caller_with_one() {
    let (pool, blocker) = blocked_pool();
    let (sender, received) = mpsc::channel();
    let [crowd, other] = [7, 8].map(|caller| pool.group(caller));
    let owners: Vec<WorkQueue> = (0..50).map(|_| crowd.work_queue()).collect();
    let single = other.work_queue();
    for (owner, name) in owners.iter().map(|owner| (owner, "crowd")).chain([(&single, "single")]) {
        let (sender, account) = (sender.clone(), Arc::clone(&owner.account));
        let mut slices = 3;
        owner.spawn(Calls(move |_: &Slice| {
            let _ = sender.send(name);
            account.used.fetch_add(1_000_000, Ordering::Relaxed);
            account.group.as_ref().expect("a group").used.fetch_add(1_000_000, Ordering::Relaxed);
            slices -= 1;
            if slices == 0 { Flow::Done } else { Flow::Continue }
        }));
    }
    assert_eq!(pool.queued(), 51);
    drop((sender, blocker));
    let order: Vec<_> = received.iter().collect();
    assert_eq!(order.iter().take(6).filter(|name| **name == "single").count(), 3, "{order:?}");
    assert_eq!(order.len(), 153);
}

#[test]
fn the_pool_forgets_groups_that_were_dropped() {
    let pool = Pool::stepped();
    let kept = pool.group(0);
    for caller in 1..10_000 {
        drop(pool.group(caller));
    }
    assert!(pool.shared.lock().groups.len() < 100);
    assert!(Arc::ptr_eq(&kept.account, &pool.group(0).account));
}

#[test]
fn a_new_owner_gets_no_credit_for_idle_time() {
    let (pool, blocker) = blocked_pool();
    let (sender, received) = mpsc::channel();
    let group = pool.new_group();
    let (old, new) = (group.work_queue(), group.work_queue());
    old.account.used.store(10_000_000, Ordering::Relaxed);
    group.account.start_time.store(10_000_000, Ordering::Relaxed);
    new.spawn(sending("new", 40, &sender));
    old.spawn(sending("old", 40, &sender));
    let used = |owner: &WorkQueue| owner.account.used.load(Ordering::Relaxed);
    assert_eq!(used(&new), used(&old), "both start at the start time of the group");
    drop((sender, blocker));
    assert_eq!(received.iter().count(), 80);
}

#[test]
fn dropping_an_owner_drops_its_work() {
    let (pool, blocker) = blocked_pool();
    let (sender, received) = mpsc::channel();
    let (dropped, stays) = (pool.new_group().work_queue(), pool.new_group().work_queue());
    dropped.spawn(sending("dropped", 1, &sender));
    stays.spawn(sending("stays", 1, &sender));
    drop(dropped);
    drop((sender, blocker));
    assert_eq!(received.iter().collect::<Vec<_>>(), ["stays"]);
}

#[test]
fn running_work_sees_that_it_is_cancelled_and_is_dropped() {
    let pool = Pool::new(1).expect("a thread starts");
    let (began, begins) = mpsc::channel();
    let (owner, (alive, ended)) = (pool.new_group().work_queue(), mpsc::channel::<()>());
    owner.spawn(Calls(move |slice: &Slice| {
        let _alive = &alive;
        let _ = began.send(());
        while !slice.is_cancelled() {
            std::hint::spin_loop();
        }
        Flow::Continue
    }));
    begins.recv().expect("it begins");
    owner.cancel();
    assert!(ended.recv().is_err(), "it has been dropped");
}

#[test]
fn a_slice_ends_after_its_time() {
    let pool = Pool::new(1).expect("a thread starts");
    let (sender, received) = mpsc::channel();
    let owner = pool.new_group().work_queue();
    owner.spawn(Calls(move |slice: &Slice| {
        while !slice.is_over() {
            std::hint::spin_loop();
        }
        let _ = sender.send(slice.is_cancelled());
        Flow::Done
    }));
    assert_eq!(received.recv(), Ok(false));
}

#[test]
fn a_panic_drops_only_the_work_that_panicked() {
    let pool = Pool::new(1).expect("a thread starts");
    let (alive, ended) = mpsc::channel::<()>();
    let (sender, received) = mpsc::channel();
    let owner = pool.new_group().work_queue();
    owner.spawn(Calls(move |_: &Slice| {
        let _alive = &alive;
        panic!("test panic")
    }));
    owner.spawn(sending("next", 1, &sender));
    assert_eq!(received.recv(), Ok("next"));
    assert!(ended.recv().is_err(), "it has been dropped");
}

#[test]
fn dropping_the_pool_drops_queued_work() {
    let (pool, blocker) = blocked_pool();
    let (sender, received) = mpsc::channel();
    let owner = pool.new_group().work_queue();
    owner.spawn(sending("queued", 1, &sender));
    drop(pool);
    owner.spawn(sending("too late", 1, &sender));
    drop((sender, blocker));
    assert_eq!(received.iter().count(), 0);
}

#[tokio::test]
async fn threads_of_a_lazy_pool_start_with_the_first_work() {
    let pool = Pool::lazy(2);
    let started = || pool.shared.lock().started;
    let owner = pool.new_group().work_queue();
    assert!(!started());
    assert_eq!(owner.parallel_map(2, 5, |number| number).await, Some(vec![0, 1, 2, 3, 4]));
    assert!(started());
}

fn pool_without_threads() -> Pool {
    Pool { shared: Arc::new(Shared { threads: 1, fails_to_start: true, ..Shared::default() }) }
}

#[test]
fn the_caller_runs_the_work_if_no_thread_starts() {
    let pool = pool_without_threads();
    let (sender, received) = mpsc::channel();
    let (one, two) = (pool.new_group().work_queue(), Arc::new(pool.new_group().work_queue()));
    one.spawn(sending("one", 3, &sender));
    assert_eq!(received.try_iter().count(), 3);
    // This work spawns more work. Its slices would overflow the stack if each ran inside the previous one.
    let (owner, mut sender, mut slices) = (Arc::clone(&two), Some(sender), 200_000);
    two.spawn(Calls(move |_: &Slice| {
        if let Some(sender) = sender.take() {
            owner.spawn(sending("two", 2, &sender));
        }
        slices -= 1;
        if slices == 0 { Flow::Done } else { Flow::Continue }
    }));
    assert_eq!(received.iter().count(), 2);
    assert_eq!(pool.queued(), 0);
}

#[test]
fn the_pool_tries_again_to_start_threads() {
    let mut pool = pool_without_threads();
    pool.new_group().work_queue().spawn(OneShot::new(|| {}));
    assert!(!pool.shared.lock().started);
    Arc::get_mut(&mut pool.shared).expect("only the pool has it").fails_to_start = false;
    let (owner, (sender, received)) = (pool.new_group().work_queue(), mpsc::channel());
    owner.spawn(OneShot::new(move || sender.send(std::thread::current().id()).expect("the test waits")));
    assert_ne!(received.recv(), Ok(std::thread::current().id()));
}

/// Work that panics when it is dropped.
struct PanicOnDrop;

impl Work for PanicOnDrop {
    fn advance(&mut self, _: &Slice) -> Flow {
        Flow::Continue
    }
}

impl Drop for PanicOnDrop {
    fn drop(&mut self) {
        panic!("test panic on drop");
    }
}

#[test]
fn work_that_panics_when_it_is_dropped_leaves_other_work_alone() {
    let (pool, blocker) = blocked_pool();
    let (sender, received) = mpsc::channel();
    let [waits, runs, after] = [(); 3].map(|()| pool.new_group().work_queue());
    waits.spawn(PanicOnDrop);
    waits.cancel();
    runs.spawn(PanicOnDrop);
    // `drop(runs)` cancels this work while a thread runs it, or before a thread takes it.
    drop(blocker);
    after.spawn(sending("during", 1, &sender));
    assert_eq!(received.recv(), Ok("during"));
    drop(runs);
    after.spawn(sending("after", 1, &sender));
    assert_eq!(received.recv(), Ok("after"), "the only thread still runs");
    waits.spawn(PanicOnDrop);
    drop(pool);
    waits.spawn(PanicOnDrop);
}

/// Work that panics when it runs, and again when it is dropped.
struct PanicOnRunAndDrop;

impl Work for PanicOnRunAndDrop {
    fn advance(&mut self, _: &Slice) -> Flow {
        panic!("test panic");
    }
}

impl Drop for PanicOnRunAndDrop {
    fn drop(&mut self) {
        panic!("test panic on drop");
    }
}

#[test]
fn work_that_panics_twice_ends_neither_the_process_nor_a_thread() {
    let (pool, blocker) = blocked_pool();
    let (sender, received) = mpsc::channel();
    let [fails, waits, after] = [(); 3].map(|()| pool.new_group().work_queue());
    fails.spawn(PanicOnRunAndDrop);
    // One call of `cancel` drops both.
    waits.spawn(PanicOnDrop);
    waits.spawn(PanicOnDrop);
    waits.cancel();
    drop(blocker);
    after.spawn(sending("after", 1, &sender));
    assert_eq!(received.recv(), Ok("after"), "the only thread still runs");
    let (pool, blocker) = blocked_pool();
    let owners = [(); 2].map(|()| pool.new_group().work_queue());
    for owner in owners.iter().cycle().take(4) {
        owner.spawn(PanicOnDrop);
    }
    drop(pool);
    drop(blocker);
}
