use super::*;

#[test]
fn members_come_in_ascending_order_and_by_rank() {
    let set: BitSet<4> = [200, 3, 64, 63, 255].into_iter().collect();
    assert_eq!(set.iter().collect::<Vec<_>>(), [3, 63, 64, 200, 255]);
    assert_eq!(
        (0..6).map(|k| set.nth(k)).collect::<Vec<_>>(),
        [Some(3), Some(63), Some(64), Some(200), Some(255), None]
    );
}

#[test]
fn every_member_has_its_rank() {
    for word in [1, u64::MAX, 0x8000_0000_0000_0000, 0xdead_beef_0bad_cafe, 0x00ff_0000_ff00_8001] {
        let set = BitSet([word]);
        let by_rank: Vec<_> = (0..set.len()).filter_map(|k| set.nth(k)).collect();
        assert_eq!(by_rank, set.iter().collect::<Vec<_>>());
    }
}

#[test]
fn below_fills_whole_and_partial_words() {
    assert_eq!(BitSet::<2>::below(128).len(), 128);
    assert_eq!(BitSet::<2>::below(65).iter().last(), Some(64));
    assert!(BitSet::<1>::below(0).is_empty());
}

#[test]
fn fold_continues_where_next_stopped() {
    let set: BitSet<4> = [200, 3, 64, 63, 255].into_iter().collect();
    let mut members = set.iter();
    assert_eq!((members.next(), members.next()), (Some(3), Some(63)));
    assert_eq!(members.fold(vec![], |all, id| [all, vec![id]].concat()), [64, 200, 255]);
}

#[test]
fn renumbering_moves_every_member() {
    let set: BitSet<2> = [1, 64, 68, 100].into_iter().collect();
    let members = |from, to| set.renumbered::<4>(from, to).iter().collect::<Vec<_>>();
    assert_eq!(members(1, 0), [0, 63, 67, 99]);
    assert_eq!(members(0, 68), [69, 132, 136, 168]);
    assert_eq!(members(1, 1), [1, 64, 68, 100]);
    assert_eq!(BitSet::<1>::single(45).renumbered::<2>(1, 68), BitSet::single(112));
}

#[test]
#[should_panic(expected = "does not fit")]
fn a_member_below_its_new_first_number_does_not_fit() {
    let _: BitSet<1> = BitSet::<1>::single(3).renumbered(4, 0);
}

#[test]
fn bits_are_written_low_first() {
    let set: BitSet<2> = [0, 9, 66].into_iter().collect();
    let mut out = [0xff; 9];
    set.write_bits(&mut out);
    assert_eq!(out, [1, 2, 0, 0, 0, 0, 0, 0, 4]);
}

#[test]
fn a_word_is_a_set_of_its_bits() {
    assert_eq!(BitSet::from(0b1001).iter().collect::<Vec<_>>(), [0, 3]);
}

#[test]
fn flags_are_written_a_byte_each() {
    let set: BitSet<2> = [0, 9, 63, 64, 66, 127].into_iter().collect();
    let mut out = [0xff; 67];
    set.write_flags(&mut out);
    assert!((0..67).all(|id| out[usize::from(id)] == u8::from(set.contains(id))));
    assert!((0..=255).all(
        |bits: u8| bits_to_bytes(bits).to_le_bytes() == [0, 1, 2, 3, 4, 5, 6, 7].map(|at| bits >> at & 1)
    ));
}

#[test]
fn an_id_that_does_not_fit_is_not_a_member() {
    let mut set = BitSet::<1>::below(64);
    assert!(!set.contains(64) && !set.remove(200));
}
