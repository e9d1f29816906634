// A Boardwire agent. It joins a match with the code of an invitation and plays until the match is closed.
//
//     java Agent HOST:PORT CODE [--transcript]
//
// To write your own agent, replace `choose`.

import com.boardwire.v1.*;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;

final class Agent {
  /**
   * Chooses a legal action. A trained policy also uses the view; GameSpec.fields has its layout. Do not use the ply:
   * simultaneous actions arrive in any order, so the same game can have different plies.
   */
  private static int choose(List<Integer> legal, Observation observation) {
    return legal.get(observation.getDecision() % legal.size());
  }

  private final MatchServiceGrpc.MatchServiceStub seat;
  private final String matchId;
  private final GameSpec spec;
  private final boolean transcript;

  /** Joins the match. The request id makes the join idempotent: it can be retried after a lost response. */
  private Agent(ManagedChannel channel, String code, boolean transcript) throws InterruptedException {
    var id = UUID.randomUUID().toString();
    var join = JoinMatchRequest.newBuilder().setCode(code).setRequestId(id).setWithSpec(true).build();
    var joined = Wire.callWithRetry(MatchServiceGrpc.newBlockingStub(channel), stub -> stub.joinMatch(join));
    this.spec = joined.getSpec();
    this.seat = MatchServiceGrpc.newStub(channel).withCallCredentials(Wire.bearer(joined.getToken()));
    this.matchId = joined.getMatch().getId();
    this.transcript = transcript;
  }

  /** Plays until the match is closed. If a stream breaks, sends the unanswered request again on a new stream. */
  private void play() throws InterruptedException {
    var nextRequest = observe();
    for (var backoff = new Wire.Backoff(); ; ) {
      // Without a deadline: the other players have no time limit.
      try (var stream = new Wire.RequestStream<PlayRequest, PlayResponse>(seat::play)) {
        while (true) {
          nextRequest = next(nextRequest, stream.ask(nextRequest));
          backoff.reset();
          if (nextRequest.hasAct()) Thread.sleep(Wire.thinkTime());
        }
      } catch (StatusRuntimeException error) {
        if (Wire.reason(error).equals("MATCH_CLOSED")) return;
        backoff.await(error);
      }
    }
  }

  /** Returns a request to observe. With `wait`, the response comes when a decision is due or the episode is over. */
  private PlayRequest observe() {
    var observe = ObserveRequest.newBuilder().setMatchId(matchId).setWait(true);
    return PlayRequest.newBuilder().setObserve(observe).build();
  }

  /**
   * Returns the request after a response: for the decision that is due, or for the next episode. Both requests are
   * idempotent, since they name their decision or episode.
   */
  private PlayRequest next(PlayRequest sent, PlayResponse response) {
    if (response.hasError()) {
      switch (Wire.reason(response.getError())) {
        case "DECISION_STALE", "DECISION_LATE", "EPISODE_OVER", "NOT_YOUR_TURN":
          // The host reset or ended the episode, or time ran out.
          return observe();
        default:
          throw Wire.streamError(response.getError());
      }
    }
    var observation = response.hasAct() ? response.getAct().getObservation()
        : response.hasReset() ? response.getReset().getObservation()
        : response.getObserve().getObservation();
    if (sent.hasAct()) {
      var act = sent.getAct();
      log(act.getEpisode(), act.getDecision(), act.getAction(), spec.getActions(act.getAction()).getLabel());
    }
    if (observation.getTerminated() || observation.getTruncated()) {
      var end = observation.getOutcome();
      var scores = withSpaces(end.getScoresList());
      log(observation.getEpisode(), "over scores", scores, "ranks", withSpaces(end.getRanksList()));
      var reset = ResetRequest.newBuilder().setMatchId(matchId).setEpisode(observation.getEpisode()).setWait(true);
      return PlayRequest.newBuilder().setReset(reset).build();
    }
    var act = ActRequest.newBuilder().setMatchId(matchId).setEpisode(observation.getEpisode()).setWait(true);
    act.setDecision(observation.getDecision()).setAction(choose(Wire.members(observation.getMask()), observation));
    return PlayRequest.newBuilder().setAct(act).build();
  }

  private void log(Object... values) {
    if (transcript) System.out.println(withSpaces(List.of(values)));
  }

  private static String withSpaces(List<?> values) {
    return values.stream().map(Object::toString).collect(Collectors.joining(" "));
  }

  public static void main(String[] arguments) throws IOException, InterruptedException {
    if (arguments.length < 2) {
      System.err.println("usage: Agent HOST:PORT CODE [--transcript]");
      System.exit(2);
    }
    var channel = Wire.connect(arguments[0]);
    try {
      var transcript = arguments.length > 2 && arguments[2].equals("--transcript");
      new Agent(channel, arguments[1], transcript).play();
    } catch (StatusRuntimeException error) {
      System.err.println("agent: " + error.getMessage() + " " + Wire.reason(error));
      System.exit(1);
    } finally {
      channel.shutdownNow();
    }
  }
}
