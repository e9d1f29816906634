// What any agent in Java needs around the generated stubs: a channel, patience, masks, the reasons of refusals.

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import io.grpc.CallCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.AbstractBlockingStub;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

final class Wire {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  /** A channel to host:port. It connects at the first call, and again after it has lost its connection. */
  static ManagedChannel connect(String address) {
    return ManagedChannelBuilder.forTarget(address)
        .usePlaintext()
        // A stream may be silent for as long as others think: pings tell whether the server is still there.
        .keepAliveTime(30, TimeUnit.SECONDS)
        // What a server sends at most; the library takes 4 MiB otherwise.
        .maxInboundMessageSize(64 << 20)
        .build();
  }

  /** Sends a seat's token with every call of a stub. */
  static CallCredentials bearer(String token) {
    return new CallCredentials() {
      @Override
      public void applyRequestMetadata(RequestInfo call, Executor executor, MetadataApplier applier) {
        var headers = new Metadata();
        headers.put(AUTHORIZATION, "Bearer " + token);
        applier.apply(headers);
      }

      @Override
      public void thisUsesUnstableApi() {}
    };
  }

  /** Why the server refused; empty for what does not come from Boardwire, such as a lost connection. */
  static String reason(com.google.rpc.Status refusal) {
    try {
      for (var detail : refusal.getDetailsList())
        if (detail.is(ErrorInfo.class)) return detail.unpack(ErrorInfo.class).getReason();
    } catch (InvalidProtocolBufferException malformed) {
      // It comes from elsewhere.
    }
    return "";
  }

  static String reason(Throwable failure) {
    var refusal = StatusProto.fromThrowable(failure);
    return refusal == null ? "" : reason(refusal);
  }

  /** A refusal that came as an answer on a stream, as the exception that a single call would have thrown. */
  static StatusRuntimeException refusal(com.google.rpc.Status refusal) {
    return StatusProto.toStatusRuntimeException(refusal);
  }

  /** Bears failures in a row: waits longer after each, and gives up in the end. */
  static final class Patience {
    private int failures;
    private long last = System.nanoTime();

    void reset() {
      failures = 0;
    }

    /** Returns when it is time to try again; throws a refusal, which would come again. */
    void await(StatusRuntimeException failure) throws InterruptedException {
      var code = failure.getStatus().getCode();
      // The server tells of a deadline too, if it notices first.
      var passes = code == Status.Code.UNAVAILABLE || code == Status.Code.RESOURCE_EXHAUSTED
          || Set.of("", "TIMED_OUT").contains(reason(failure));
      // Failures longer ago are not in a row with this one.
      if (System.nanoTime() - last > TimeUnit.MINUTES.toNanos(1)) reset();
      last = System.nanoTime();
      if (!passes || ++failures > 10) throw failure;
      Thread.sleep(Math.min(50 << failures, 5_000));
    }
  }

  /** Calls until there is an answer, each time with a deadline: for methods that are safe to repeat. */
  static <S extends AbstractBlockingStub<S>, A> A insist(S stub, Function<S, A> call) throws InterruptedException {
    for (var patience = new Patience(); ; ) {
      try {
        return call.apply(stub.withDeadlineAfter(20, TimeUnit.SECONDS));
      } catch (StatusRuntimeException failure) {
        patience.await(failure);
      }
    }
  }

  /** A stream on which each request is answered before the next one is sent. */
  static final class Conversation<Q, A> implements StreamObserver<A>, AutoCloseable {
    private final BlockingQueue<Supplier<A>> answers = new LinkedBlockingQueue<>();
    private final StreamObserver<Q> requests;

    Conversation(Function<StreamObserver<A>, StreamObserver<Q>> open) {
      requests = open.apply(this);
    }

    /** The answer to a request; throws what has ended the stream. */
    A ask(Q request) throws InterruptedException {
      requests.onNext(request);
      return answers.take().get();
    }

    /** Ends the stream, which would stay open at the server otherwise. */
    @Override
    public void close() {
      requests.onError(Status.CANCELLED.asRuntimeException());
    }

    @Override
    public void onNext(A answer) {
      answers.add(() -> answer);
    }

    @Override
    public void onError(Throwable failure) {
      answers.add(() -> {
        throw failure instanceof StatusRuntimeException status ? status : Status.fromThrowable(failure).asRuntimeException();
      });
    }

    @Override
    public void onCompleted() {
      onError(Status.UNAVAILABLE.withDescription("the server has ended the stream").asRuntimeException());
    }
  }

  /** The members of a set of bits: action i is bit i % 8 of byte i / 8. */
  static List<Integer> members(ByteString mask) {
    return IntStream.range(0, 8 * mask.size()).filter(i -> (mask.byteAt(i / 8) >> i % 8 & 1) == 1).boxed()
        .collect(Collectors.toList());
  }
}
