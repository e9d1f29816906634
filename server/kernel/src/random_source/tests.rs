use super::*;

#[test]
fn streams_do_not_shift_one_another() {
    let mut chance = RandomSource::seeded(5, 2);
    let mut quiet = RandomSource::seeded(5, 2);
    for _ in 0..30 {
        chance.below(1, 45);
    }
    assert!((0..30).all(|_| chance.below(0, 68) == quiet.below(0, 68)));
}

#[test]
fn rewind_repeats_words() {
    let mut chance = RandomSource::seeded(5, 2);
    let first = [chance.below(0, 68), chance.below(0, 68)];
    chance.rewind();
    assert_eq!(chance.usage(), [0, 0]);
    assert_eq!([chance.below(0, 68), chance.below(0, 68)], first);
}

#[test]
fn rewind_returns_to_the_mark() {
    let (mut chance, mut other) = (RandomSource::seeded(5, 2), RandomSource::seeded(5, 2));
    let drawn = chance.below(0, 68);
    chance.mark();
    let first = [chance.below(0, 68), chance.below(1, 68)];
    chance.rewind();
    assert_eq!(chance.usage(), [1, 0]);
    assert_eq!([chance.below(0, 68), chance.below(1, 68)], first);
    assert_eq!([other.below(0, 68), other.below(0, 68), other.below(1, 68)], [drawn, first[0], first[1]]);
}

#[test]
fn mark_after_rewind_keeps_position() {
    let (mut chance, mut other) = (RandomSource::seeded(5, 1), RandomSource::seeded(5, 1));
    let mut drawn: Vec<u32> = (0..9).map(|_| chance.below(0, 1 << 31)).collect();
    chance.rewind();
    chance.mark();
    drawn.push(chance.below(0, 1 << 31));
    assert_eq!(drawn, (0..10).map(|_| other.below(0, 1 << 31)).collect::<Vec<_>>());
}

#[test]
fn reseed_restarts() {
    let mut chance = RandomSource::seeded(5, 3);
    (0..3).for_each(|stream| _ = chance.below(stream, 68));
    chance.reseed(6, 3);
    let mut other = RandomSource::seeded(6, 3);
    assert_eq!((chance.key(), chance.usage()), (other.key(), other.usage()));
    assert!((0..30).all(|_| chance.below(0, 68) == other.below(0, 68)));
    assert_eq!((chance.usage(), chance.usage()[1..].to_vec()), (other.usage(), vec![0, 0]));
    [&mut chance, &mut other].into_iter().for_each(RandomSource::rewind);
    assert!(
        (0..30).all(|_| [0, 1].iter().all(|&stream| chance.below(stream, 68) == other.below(stream, 68)))
    );
    let mut scripted = RandomSource::scripted([[1]]);
    scripted.reseed(6, 2);
    assert_eq!((scripted.key(), scripted.usage()), (RandomSource::seeded(6, 2).key(), vec![0, 0]));
}

#[test]
fn a_script_gives_its_outcomes_in_order() {
    let mut chance = RandomSource::scripted([vec![4, 2], vec![3, 1, 2]]);
    let mut set: BitSet<1> = [2, 3, 4].into_iter().collect();
    let mut items = [1, 2, 3];
    assert_eq!((chance.draw(0, &mut set), chance.below(0, 3)), (4, 2));
    chance.shuffle(1, &mut items);
    assert_eq!((items, chance.script_error()), ([3, 1, 2], None));
    assert_eq!(set.iter().collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn an_impossible_outcome_sets_script_error_once() {
    let mut chance = RandomSource::scripted([vec![9]]);
    let mut set: BitSet<1> = [2, 3].into_iter().collect();
    assert_eq!(chance.draw(0, &mut set), 2);
    assert_eq!(chance.draw(0, &mut set), 3);
    assert_eq!(
        chance.script_error(),
        Some(&ScriptError::Impossible { stream: 0, given: 9, possible: vec![2, 3] })
    );
}

#[test]
fn enumerate_visits_every_sequence_once() {
    let draws = RandomSource::enumerate(|chance| {
        let mut set: BitSet<1> = [2, 5, 9].into_iter().collect();
        [chance.draw(0, &mut set), chance.draw(1, &mut set)]
    });
    let draws: Vec<_> = draws.collect();
    assert_eq!(draws.iter().map(|way| way.0).collect::<std::collections::BTreeSet<_>>().len(), 6);
    assert!(draws.iter().all(|way| way.1 == 6) && draws.len() == 6);
    let orders = RandomSource::enumerate(|chance| {
        let mut items = [1, 2, 3, 4];
        chance.shuffle(0, &mut items);
        items
    });
    assert_eq!(orders.collect::<std::collections::BTreeSet<_>>().len(), 24);
    assert!(RandomSource::enumerate(|_| 7).eq([(7, 1)]));
}

#[test]
#[should_panic(expected = "`play` is not deterministic: it made a different draw")]
fn enumerate_rejects_nondeterminism() {
    let mut calls = 2;
    RandomSource::enumerate(|chance| {
        calls += 1;
        chance.below(0, calls)
    })
    .for_each(drop);
}
