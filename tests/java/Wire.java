// Helpers for agents in Java: a channel, retries, masks, and reasons of errors.

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import io.grpc.CallCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.AbstractBlockingStub;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.io.File;
import java.io.IOException;
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

  private static final Metadata.Key<String> ACCOUNT =
      Metadata.Key.of("boardwire-token", Metadata.ASCII_STRING_MARSHALLER);

  /** Returns a channel to host:port. It connects at the first call and reconnects after a lost connection. */
  static ManagedChannel connect(String address) throws IOException {
    var ca = System.getenv("BOARDWIRE_CA");
    var security = ca == null ? InsecureChannelCredentials.create()
        : TlsChannelCredentials.newBuilder().trustManager(new File(ca)).build();
    var headers = new Metadata();
    var account = System.getenv("BOARDWIRE_ACCOUNT_TOKEN");
    if (account != null) headers.put(ACCOUNT, account);
    return Grpc.newChannelBuilder(address, security)
        .intercept(MetadataUtils.newAttachHeadersInterceptor(headers))
        // A stream can be silent while other players choose. Pings detect a lost server.
        .keepAliveTime(30, TimeUnit.SECONDS)
        // The largest message of a server. The default of the library is 4 MiB.
        .maxInboundMessageSize(64 << 20)
        .build();
  }

  /** Returns for how many milliseconds `boardwire agent-check` asks the agent to wait before each action. */
  static long thinkTime() {
    return (long) (1_000 * Double.parseDouble(System.getenv().getOrDefault("BOARDWIRE_CHECK_THINK", "0")));
  }

  /** Returns credentials that send a token with each call of a stub. */
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

  /** Returns the reason of an error of Boardwire, or an empty string for other errors, such as a lost connection. */
  static String reason(com.google.rpc.Status status) {
    try {
      for (var detail : status.getDetailsList())
        if (detail.is(ErrorInfo.class)) return detail.unpack(ErrorInfo.class).getReason();
    } catch (InvalidProtocolBufferException malformed) {
      // The error does not come from Boardwire.
    }
    return "";
  }

  static String reason(Throwable failure) {
    var status = StatusProto.fromThrowable(failure);
    return status == null ? "" : reason(status);
  }

  /** Converts an error on a stream to the exception of a failed call. */
  static StatusRuntimeException streamError(com.google.rpc.Status status) {
    return StatusProto.toStatusRuntimeException(status);
  }

  /** Counts consecutive failures. The pause grows with each failure, and more than 10 failures are an error. */
  static final class Backoff {
    private int failures;
    private long last = System.nanoTime();

    void reset() {
      failures = 0;
    }

    /** Returns when it is time to retry. Throws the failure if a retry cannot help. */
    void await(StatusRuntimeException failure) throws InterruptedException {
      var code = failure.getStatus().getCode();
      // With TIMED_OUT, the server noticed the deadline before the client did.
      var isTransient = code == Status.Code.UNAVAILABLE || code == Status.Code.RESOURCE_EXHAUSTED
          || Set.of("", "TIMED_OUT").contains(reason(failure));
      // After a minute without a failure, the count restarts.
      if (System.nanoTime() - last > TimeUnit.MINUTES.toNanos(1)) reset();
      last = System.nanoTime();
      if (!isTransient || ++failures > 10) throw failure;
      Thread.sleep(Math.min(50 << failures, 5_000));
    }
  }

  /** Retries a call until there is a response. Each attempt has a deadline. The method must be idempotent. */
  static <S extends AbstractBlockingStub<S>, A> A callWithRetry(S stub, Function<S, A> call)
      throws InterruptedException {
    for (var backoff = new Backoff(); ; ) {
      try {
        return call.apply(stub.withDeadlineAfter(20, TimeUnit.SECONDS));
      } catch (StatusRuntimeException failure) {
        backoff.await(failure);
      }
    }
  }

  /** A stream that waits for each response before the next request. */
  static final class RequestStream<Q, A> implements StreamObserver<A>, AutoCloseable {
    private final BlockingQueue<Supplier<A>> responses = new LinkedBlockingQueue<>();
    private final StreamObserver<Q> requests;

    RequestStream(Function<StreamObserver<A>, StreamObserver<Q>> open) {
      requests = open.apply(this);
    }

    /** Sends a request and returns its response. Throws the error that ended the stream. */
    A ask(Q request) throws InterruptedException {
      requests.onNext(request);
      return responses.take().get();
    }

    /** Cancels the stream. Otherwise it stays open in the server. */
    @Override
    public void close() {
      requests.onError(Status.CANCELLED.asRuntimeException());
    }

    @Override
    public void onNext(A response) {
      responses.add(() -> response);
    }

    @Override
    public void onError(Throwable failure) {
      responses.add(() -> {
        if (failure instanceof StatusRuntimeException status) throw status;
        throw Status.fromThrowable(failure).asRuntimeException();
      });
    }

    @Override
    public void onCompleted() {
      onError(Status.UNAVAILABLE.withDescription("the server has ended the stream").asRuntimeException());
    }
  }

  /** Returns the members of a bit set: action i is bit i % 8 of byte i / 8. */
  static List<Integer> members(ByteString mask) {
    return IntStream.range(0, 8 * mask.size()).filter(i -> (mask.byteAt(i / 8) >> i % 8 & 1) == 1).boxed()
        .collect(Collectors.toList());
  }
}
