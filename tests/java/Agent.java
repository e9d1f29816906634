// A Boardwire agent: joins a match with the code of an invitation and plays until the host closes it.
//
//     java Agent HOST:PORT CODE [--transcript]
//
// To write an agent of your own, replace `choose`.

import com.boardwire.v1.*;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;

final class Agent {
  /**
   * Chooses one of the legal actions. A trained policy looks at the view as well, which GameSpec.fields lays out. None
   * looks at the ply: simultaneous choices come in any order, so the same game shows other plies.
   */
  private static int choose(List<Integer> legal, Observation seen) {
    return legal.get(seen.getDecision() % legal.size());
  }

  private final MatchServiceGrpc.MatchServiceStub seat;
  private final String matchId;
  private final GameSpec spec;
  private final boolean transcript;

  /** Takes the seat. With a request id of its own, a join whose answer was lost can be repeated. */
  private Agent(ManagedChannel channel, String code, boolean transcript) throws InterruptedException {
    var id = UUID.randomUUID().toString();
    var join = JoinMatchRequest.newBuilder().setCode(code).setRequestId(id).build();
    var joined = Wire.insist(MatchServiceGrpc.newBlockingStub(channel), stub -> stub.joinMatch(join));
    var match = joined.getMatch();
    var config = match.getConfig();
    var table = GetGameRequest.newBuilder().setGame(config.getGame()).setSeats(config.getPlayersCount());
    var game = table.putAllOptions(config.getOptionsMap()).build();
    this.spec = Wire.insist(CatalogServiceGrpc.newBlockingStub(channel), stub -> stub.getGame(game)).getSpec();
    this.seat = MatchServiceGrpc.newStub(channel).withCallCredentials(Wire.bearer(joined.getToken()));
    this.matchId = match.getId();
    this.transcript = transcript;
  }

  /** Plays until the match is closed. When a stream breaks, what was not answered is asked again on another one. */
  private void play() throws InterruptedException {
    var due = observe();
    for (var patience = new Wire.Patience(); ; ) {
      // It has no deadline, since others may think for long.
      try (var stream = new Wire.Conversation<PlayRequest, PlayResponse>(seat::play)) {
        while (true) {
          due = next(due, stream.ask(due));
          patience.reset();
        }
      } catch (StatusRuntimeException ended) {
        if (Wire.reason(ended).equals("MATCH_CLOSED")) return;
        patience.await(ended);
      }
    }
  }

  /** Asks for the observation; with `wait` it comes when the seat owes a decision or the episode is over. */
  private PlayRequest observe() {
    var observe = ObserveRequest.newBuilder().setMatchId(matchId).setWait(true);
    return PlayRequest.newBuilder().setObserve(observe).build();
  }

  /**
   * What to ask for after an answer: the decision that is due, or the next episode. Both name the one that they are
   * about, so that a request that is repeated does nothing twice.
   */
  private PlayRequest next(PlayRequest asked, PlayResponse answer) {
    if (answer.hasError()) {
      switch (Wire.reason(answer.getError())) {
        case "DECISION_STALE", "DECISION_LATE", "EPISODE_OVER", "NOT_YOUR_TURN":
          // The host has begun another episode, or ended this one, or time has run out: look again.
          return observe();
        default:
          throw Wire.refusal(answer.getError());
      }
    }
    var seen = answer.hasAct() ? answer.getAct().getObservation()
        : answer.hasReset() ? answer.getReset().getObservation()
        : answer.getObserve().getObservation();
    if (asked.hasAct()) {
      var act = asked.getAct();
      log(act.getEpisode(), act.getDecision(), act.getAction(), spec.getActions(act.getAction()).getLabel());
    }
    if (seen.getTerminated() || seen.getTruncated()) {
      var end = seen.getOutcome();
      log(seen.getEpisode(), "over scores", words(end.getScoresList()), "ranks", words(end.getRanksList()));
      var reset = ResetRequest.newBuilder().setMatchId(matchId).setEpisode(seen.getEpisode()).setWait(true);
      return PlayRequest.newBuilder().setReset(reset).build();
    }
    var act = ActRequest.newBuilder().setMatchId(matchId).setEpisode(seen.getEpisode()).setWait(true);
    act.setDecision(seen.getDecision()).setAction(choose(Wire.members(seen.getMask()), seen));
    return PlayRequest.newBuilder().setAct(act).build();
  }

  private void log(Object... words) {
    if (transcript) System.out.println(words(List.of(words)));
  }

  private static String words(List<?> all) {
    return all.stream().map(Object::toString).collect(Collectors.joining(" "));
  }

  public static void main(String[] words) throws InterruptedException {
    if (words.length < 2) {
      System.err.println("usage: Agent HOST:PORT CODE [--transcript]");
      System.exit(2);
    }
    var channel = Wire.connect(words[0]);
    try {
      new Agent(channel, words[1], words.length > 2 && words[2].equals("--transcript")).play();
    } catch (StatusRuntimeException refused) {
      System.err.println("agent: " + refused.getMessage() + " " + Wire.reason(refused));
      System.exit(1);
    } finally {
      channel.shutdownNow();
    }
  }
}
