#![allow(clippy::all)]
use super::super::GoldenCompass;
use boardwire_kernel::{testkit, *};
use std::sync::Arc;
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/stat").unwrap();
    let v: Vec<&str> = s.rsplit(')').next().unwrap().split_whitespace().collect();
    (v[11].parse::<f64>().unwrap() + v[12].parse::<f64>().unwrap()) / 100.0
}
#[test]
fn timing() {
    for seats in [2u8, 3, 4] {
        let game: Arc<GoldenCompass> = testkit::table(seats, &[]);
        let mut view = vec![0; game.info().layout.bytes()];
        let mut mask = vec![0; game.info().actions.mask_bytes()];
        println!(
            "view {} bytes, actions {}, max plies {}, state {}",
            view.len(),
            game.info().actions.count(),
            game.info().max_plies,
            borsh::to_vec(Episode::seeded(Arc::clone(&game), 1).state())
                .unwrap()
                .len()
        );
        let start = cpu();
        let mut n = 0u64;
        let mut games = 0;
        let mut t_deal = std::time::Duration::ZERO;
        let mut turns = 0u64;
        let mut maxply = 0;
        for seed in 0..2000u64 {
            let mut e = Episode::seeded(Arc::clone(&game), seed);
            let mut dice = Dice::new(seed, BOT_STREAM);
            while let Some(seat) = e.pending().lowest() {
                let mut legal = game.legal(e.state(), seat);
                legal.write_bits(&mut mask);
                game.view(e.state(), seat, &mut view);
                let a = dice.draw(&mut legal);
                e.apply(seat, a.into()).unwrap();
                n += 1;
            }
            games += 1;
            turns += u64::from(e.state().turn);
            maxply = maxply.max(e.ply());
        }
        let t = std::time::Duration::from_secs_f64(cpu() - start);
        let _ = t_deal;
        t_deal = t;
        println!(
            "{seats} seats: {:.0} decisions/s, {} plies/game, {} turns, max {maxply}",
            n as f64 / t.as_secs_f64(),
            n / games,
            turns / games
        );
    }
}
#[test]
fn greedy() {
    for seats in [2u8, 3, 4] {
        let game: Arc<GoldenCompass> = testkit::table(seats, &[]);
        let mut wins = 0f64;
        let n = 200;
        let mut sc = [0i64; 2];
        for seed in 0..n {
            let me = (seed % u64::from(seats)) as u8;
            let mut e = Episode::seeded(Arc::clone(&game), seed);
            let mut dice = Dice::new(seed, BOT_STREAM);
            while let Some(seat) = e.pending().lowest() {
                let mut legal = game.legal(e.state(), seat);
                let a = if seat.number() == me && legal.len() > 1 {
                    let k = e.knowledge(seat, &mut dice);
                    let mut best = (i64::MIN, 0);
                    let mut sums = [0i64; 256];
                    for _w in 0..4 {
                        let world = k.world(&mut dice);
                        for a in legal.iter() {
                            let mut s = world.clone();
                            let mut ch = Chance::seeded(dice.seed(), 8);
                            apply(&*game, &mut s, seat, a.into(), &mut ch).unwrap();
                            sums[a as usize] += i64::from(game.estimate(&s, seat));
                        }
                    }
                    for a in legal.iter() {
                        if sums[a as usize] > best.0 {
                            best = (sums[a as usize], a);
                        }
                    }
                    best.1
                } else {
                    dice.draw(&mut legal)
                };
                e.apply(seat, a.into()).unwrap();
            }
            let o = e.outcome().unwrap();
            let winners = Seat::all(seats).filter(|&s| o.is_winner(s)).count();
            if o.is_winner(Seat::new(me)) {
                wins += 1.0 / winners as f64;
            }
            sc[0] += i64::from(o.scores()[me as usize]);
            sc[1] += i64::from(o.scores()[((me + 1) % seats) as usize]);
        }
        println!(
            "{seats}: greedy wins {:.3} scores {} vs {}",
            wins / n as f64,
            sc[0] / n as i64,
            sc[1] / n as i64
        );
    }
}
#[test]
fn parts() {
    let game: Arc<GoldenCompass> = testkit::table(2, &[]);
    let mut view = vec![0; game.info().layout.bytes()];
    let mut states = vec![];
    for seed in 0..200u64 {
        testkit::random_game(&game, seed, |e| {
            states.push((*e.state(), e.pending().lowest().unwrap()))
        });
    }
    let n = states.len() * 20;
    let t = cpu();
    for _ in 0..20 {
        for (s, seat) in &states {
            game.view(s, *seat, &mut view);
            std::hint::black_box(&view);
        }
    }
    println!("view {:.0} ns", (cpu() - t) * 1e9 / n as f64);
    let t = cpu();
    for _ in 0..20 {
        for (s, seat) in &states {
            std::hint::black_box(game.legal(s, *seat));
        }
    }
    println!("legal {:.0} ns", (cpu() - t) * 1e9 / n as f64);
    let t = cpu();
    for _ in 0..20 {
        for (s, _) in &states {
            std::hint::black_box(game.pending(s));
        }
    }
    println!("pending {:.0} ns", (cpu() - t) * 1e9 / n as f64);
    let t = cpu();
    for _ in 0..20 {
        for (s, _) in &states {
            std::hint::black_box(s.clone());
        }
    }
    println!("clone {:.0} ns", (cpu() - t) * 1e9 / n as f64);
    let t = cpu();
    let mut m = 0;
    for k in 0..2000u64 {
        let mut e = Episode::seeded(Arc::clone(&game), k);
        std::hint::black_box(&mut e);
        m += 1;
    }
    println!("deal {:.0} ns", (cpu() - t) * 1e9 / m as f64);
    let t = cpu();
    for (k, (s, seat)) in states.iter().enumerate() {
        let mut w = *s;
        let mut d = Dice::new(k as u64, 9);
        game.resample(&mut w, *seat, &mut d);
        std::hint::black_box(&w);
    }
    println!("resample {:.0} ns", (cpu() - t) * 1e9 / states.len() as f64);
    let t = cpu();
    for (s, seat) in &states {
        std::hint::black_box(game.estimate(s, *seat));
    }
    println!("estimate {:.0} ns", (cpu() - t) * 1e9 / states.len() as f64);
}
