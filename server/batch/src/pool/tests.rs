use std::sync::mpsc;

use super::*;

/// Work that calls a function for every slice.
struct Calls<F>(F);

impl<F: FnMut(&Slice) -> Flow + Send + 'static> Work for Calls<F> {
    fn advance(&mut self, slice: &Slice) -> Flow {
        (self.0)(slice)
    }
}

/// A pool of one thread, which is held.
fn held() -> (Pool, Hold) {
    let pool = Pool::new(1).expect("a thread starts");
    let hold = pool.hold();
    (pool, hold)
}

impl Pool {
    /// A pool without threads: `advance` does its work, a slice at a time.
    pub(crate) fn stepped() -> Self {
        let pool = Self { shared: Arc::default(), threads: 1 };
        pool.shared.lock().started = true;
        pool
    }

    /// Does one slice of the work that waits; false if none does.
    pub(crate) fn advance(&self) -> bool {
        let next = self.shared.lock().next();
        next.map(|(account, task)| self.shared.perform(&account, task)).is_some()
    }
}

#[tokio::test]
async fn a_task_for_many_numbers_gives_their_items_in_order_or_nothing() {
    let pool = Pool::new(3).expect("threads start");
    let owner = pool.alone().owner();
    let squares = owner.each(3, 1_000, |number| number * number).await;
    assert_eq!(squares, Some((0..1_000).map(|number| number * number).collect()));
    assert_eq!(owner.each(3, 0, |number| number).await, Some(vec![]));
    let failed = owner.each(2, 10, |number| assert_ne!(number, 7)).await;
    assert_eq!(failed, None, "one of them has panicked");
}

#[tokio::test]
async fn a_task_that_nobody_waits_for_ends() {
    let pool = Pool::new(1).expect("a thread starts");
    let owner = pool.alone().owner();
    let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
    let endless = owner.each(1, 1 << 26, move |number| {
        let _ = begun.send(number);
    });
    tokio::select! {
        _ = endless => unreachable!("it has too much to do"),
        _ = begins.recv() => {}
    }
    // The sender is dropped with the task.
    while begins.recv().await.is_some() {}
}

/// Work that notes its name at every slice, and has so many of them.
fn noting(name: &'static str, mut slices: u32, notes: &mpsc::Sender<&'static str>) -> impl Work {
    let notes = notes.clone();
    Calls(move |_: &Slice| {
        let _ = notes.send(name);
        slices -= 1;
        if slices == 0 { Flow::Done } else { Flow::More }
    })
}

#[test]
fn owners_take_turns_slice_by_slice() {
    let (pool, hold) = held();
    let (notes, heard) = mpsc::channel();
    let group = pool.alone();
    let (one, two) = (group.owner(), group.owner());
    // Equal slices, as the account sees them: the clock plays no part.
    for (owner, name) in [(&one, "one"), (&two, "two")] {
        let (notes, account) = (notes.clone(), Arc::clone(&owner.account));
        let mut slices = 3;
        owner.spawn(Calls(move |_: &Slice| {
            let _ = notes.send(name);
            account.used.fetch_add(1_000_000, Ordering::Relaxed);
            slices -= 1;
            if slices == 0 { Flow::Done } else { Flow::More }
        }));
    }
    drop((notes, hold));
    let order: Vec<_> = heard.iter().collect();
    for pair in order.chunks(2) {
        assert_ne!(pair[0], pair[1], "{order:?}");
    }
}

#[test]
fn who_has_used_little_goes_before_who_has_used_much() {
    let (pool, hold) = held();
    let (notes, heard) = mpsc::channel();
    let group = pool.alone();
    let heavy: Vec<Owner> = (0..50).map(|_| group.owner()).collect();
    for owner in &heavy {
        owner.account.used.store(10_000_000, Ordering::Relaxed);
        owner.spawn(noting("heavy", 3, &notes));
    }
    let light = group.owner();
    light.spawn(noting("light", 1, &notes));
    drop((notes, hold));
    assert_eq!(heard.recv(), Ok("light"));
    assert_eq!(heard.iter().count(), 150);
}

/// Each of many owners of one caller has used nothing yet.
#[test]
fn a_caller_with_many_owners_has_no_more_than_one_with_few() {
    let (pool, hold) = held();
    let (notes, heard) = mpsc::channel();
    let [crowd, other] = [7, 8].map(|caller| pool.group(caller));
    let owners: Vec<Owner> = (0..50).map(|_| crowd.owner()).collect();
    let alone = other.owner();
    for (owner, name) in owners.iter().map(|owner| (owner, "crowd")).chain([(&alone, "alone")]) {
        let (notes, account) = (notes.clone(), Arc::clone(&owner.account));
        let mut slices = 3;
        owner.spawn(Calls(move |_: &Slice| {
            let _ = notes.send(name);
            account.used.fetch_add(1_000_000, Ordering::Relaxed);
            account.group.as_ref().expect("a group").used.fetch_add(1_000_000, Ordering::Relaxed);
            slices -= 1;
            if slices == 0 { Flow::Done } else { Flow::More }
        }));
    }
    assert_eq!(pool.queued(), 51);
    drop((notes, hold));
    let order: Vec<_> = heard.iter().collect();
    assert_eq!(order.iter().take(6).filter(|name| **name == "alone").count(), 3, "{order:?}");
    assert_eq!(order.len(), 153);
}

#[test]
fn callers_that_have_gone_are_forgotten() {
    let pool = Pool::stepped();
    let kept = pool.group(0);
    for caller in 1..10_000 {
        drop(pool.group(caller));
    }
    assert!(pool.shared.lock().groups.len() < 100);
    assert!(Arc::ptr_eq(&kept.account, &pool.group(0).account));
}

#[test]
fn who_comes_late_has_no_claim_to_what_others_have_used_before() {
    let (pool, hold) = held();
    let (notes, heard) = mpsc::channel();
    let group = pool.alone();
    let (early, late) = (group.owner(), group.owner());
    early.account.used.store(10_000_000, Ordering::Relaxed);
    group.account.floor.store(10_000_000, Ordering::Relaxed);
    late.spawn(noting("late", 40, &notes));
    early.spawn(noting("early", 40, &notes));
    assert_eq!(late.account.used(), early.account.used(), "both begin at the floor");
    drop((notes, hold));
    assert_eq!(heard.iter().count(), 80);
}

#[test]
fn an_owner_that_ends_takes_its_work_along() {
    let (pool, hold) = held();
    let (notes, heard) = mpsc::channel();
    let (gone, stays) = (pool.alone().owner(), pool.alone().owner());
    gone.spawn(noting("gone", 1, &notes));
    stays.spawn(noting("stays", 1, &notes));
    drop(gone);
    drop((notes, hold));
    assert_eq!(heard.iter().collect::<Vec<_>>(), ["stays"]);
}

#[test]
fn work_under_way_is_told_that_nobody_wants_it_and_is_dropped() {
    let pool = Pool::new(1).expect("a thread starts");
    let (begun, begins) = mpsc::channel();
    let (owner, (alive, ended)) = (pool.alone().owner(), mpsc::channel::<()>());
    owner.spawn(Calls(move |slice: &Slice| {
        let _alive = &alive;
        let _ = begun.send(());
        while !slice.is_cancelled() {
            std::hint::spin_loop();
        }
        Flow::More
    }));
    begins.recv().expect("it begins");
    owner.cancel();
    assert!(ended.recv().is_err(), "it has been dropped");
}

#[test]
fn a_slice_ends() {
    let pool = Pool::new(1).expect("a thread starts");
    let (notes, heard) = mpsc::channel();
    let owner = pool.alone().owner();
    owner.spawn(Calls(move |slice: &Slice| {
        while !slice.is_over() {
            std::hint::spin_loop();
        }
        let _ = notes.send(slice.is_cancelled());
        Flow::Done
    }));
    assert_eq!(heard.recv(), Ok(false));
}

#[test]
fn a_panic_drops_the_work_and_nothing_else() {
    let pool = Pool::new(1).expect("a thread starts");
    let (alive, ended) = mpsc::channel::<()>();
    let (notes, heard) = mpsc::channel();
    let owner = pool.alone().owner();
    owner.spawn(Calls(move |_: &Slice| {
        let _alive = &alive;
        panic!("as the test wants it")
    }));
    owner.spawn(noting("next", 1, &notes));
    assert_eq!(heard.recv(), Ok("next"));
    assert!(ended.recv().is_err(), "it has been dropped");
}

#[test]
fn a_pool_that_ends_drops_what_waits() {
    let (pool, hold) = held();
    let (notes, heard) = mpsc::channel();
    let owner = pool.alone().owner();
    owner.spawn(noting("waits", 1, &notes));
    drop(pool);
    owner.spawn(noting("comes too late", 1, &notes));
    drop((notes, hold));
    assert_eq!(heard.iter().count(), 0);
}

#[tokio::test]
async fn late_threads_start_with_the_first_work() {
    let pool = Pool::late(2);
    let started = || pool.shared.lock().started;
    let owner = pool.alone().owner();
    assert!(!started());
    assert_eq!(owner.each(2, 5, |number| number).await, Some(vec![0, 1, 2, 3, 4]));
    assert!(started());
}

/// A pool that starts no thread.
fn barren() -> Pool {
    Pool { shared: Arc::new(Shared { late: 1, barren: true, ..Shared::default() }), threads: 1 }
}

#[test]
fn who_asks_does_the_work_where_no_thread_starts() {
    let pool = barren();
    let (notes, heard) = mpsc::channel();
    let (one, two) = (pool.alone().owner(), Arc::new(pool.alone().owner()));
    one.spawn(noting("one", 3, &notes));
    assert_eq!(heard.try_iter().count(), 3);
    // Work that asks for more, and has so many slices that doing each within the last would take all of the stack.
    let (asked, mut notes, mut slices) = (Arc::clone(&two), Some(notes), 200_000);
    two.spawn(Calls(move |_: &Slice| {
        if let Some(notes) = notes.take() {
            asked.spawn(noting("two", 2, &notes));
        }
        slices -= 1;
        if slices == 0 { Flow::Done } else { Flow::More }
    }));
    assert_eq!(heard.iter().count(), 2);
    assert_eq!(pool.queued(), 0);
}

#[test]
fn threads_are_started_once_they_can_be() {
    let mut pool = barren();
    pool.alone().owner().spawn(Once::new(|| {}));
    assert!(!pool.shared.lock().started);
    Arc::get_mut(&mut pool.shared).expect("nobody else has it").barren = false;
    let (owner, (notes, heard)) = (pool.alone().owner(), mpsc::channel());
    owner.spawn(Once::new(move || notes.send(std::thread::current().id()).expect("the test waits")));
    assert_ne!(heard.recv(), Ok(std::thread::current().id()));
}

/// Work whose end is a mistake of its own.
struct Ending;

impl Work for Ending {
    fn advance(&mut self, _: &Slice) -> Flow {
        Flow::More
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        panic!("at its end");
    }
}

#[test]
fn work_that_panics_when_it_is_dropped_harms_nobody() {
    let (pool, hold) = held();
    let (notes, heard) = mpsc::channel();
    let [waits, runs, after] = [(); 3].map(|()| pool.alone().owner());
    waits.spawn(Ending);
    waits.cancel();
    runs.spawn(Ending);
    // It is cancelled while a thread has it, or before one takes it.
    drop(hold);
    after.spawn(noting("during", 1, &notes));
    assert_eq!(heard.recv(), Ok("during"));
    drop(runs);
    after.spawn(noting("after", 1, &notes));
    assert_eq!(heard.recv(), Ok("after"), "the only thread lives");
    waits.spawn(Ending);
    drop(pool);
    waits.spawn(Ending);
}

/// Work that panics, and once more when it is dropped.
struct Failing;

impl Work for Failing {
    fn advance(&mut self, _: &Slice) -> Flow {
        panic!("at once");
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        panic!("at its end");
    }
}

#[test]
fn work_that_panics_twice_ends_neither_the_process_nor_a_thread() {
    let (pool, hold) = held();
    let (notes, heard) = mpsc::channel();
    let [fails, waits, after] = [(); 3].map(|()| pool.alone().owner());
    fails.spawn(Failing);
    // Several are dropped at once.
    waits.spawn(Ending);
    waits.spawn(Ending);
    waits.cancel();
    drop(hold);
    after.spawn(noting("after", 1, &notes));
    assert_eq!(heard.recv(), Ok("after"), "the only thread lives");
    let (pool, hold) = held();
    let owners = [(); 2].map(|()| pool.alone().owner());
    for owner in owners.iter().cycle().take(4) {
        owner.spawn(Ending);
    }
    drop(pool);
    drop(hold);
}
