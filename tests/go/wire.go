package main

// Helpers for agents in Go: a connection, retries, masks, and reasons of errors.

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// connect returns a connection to host:port or unix:/path. It connects at the first call and reconnects after a loss.
func connect(address string) (*grpc.ClientConn, error) {
	params := grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: 10 * time.Second}
	params.Backoff.BaseDelay = 100 * time.Millisecond
	security := grpc.WithInsecure()
	if ca := os.Getenv("BOARDWIRE_CA"); ca != "" {
		trusted, err := credentials.NewClientTLSFromFile(ca, "")
		if err != nil {
			return nil, err
		}
		security = grpc.WithTransportCredentials(trusted)
	}
	return grpc.Dial(address,
		security,
		grpc.WithPerRPCCredentials(account(os.Getenv("BOARDWIRE_ACCOUNT_TOKEN"))),
		grpc.WithConnectParams(params),
		// A stream can be silent while other players choose. Pings detect a lost server.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second}),
		// The largest message of a server. The default of the library is 4 MiB.
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
}

// account is the token of an account, which each call carries; empty for none.
type account string

func (token account) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if token == "" {
		return nil, nil
	}
	return map[string]string{"boardwire-token": string(token)}, nil
}

// RequireTransportSecurity allows plaintext on one machine.
func (account) RequireTransportSecurity() bool {
	return false
}

// bearer returns a context in which calls carry the token.
func bearer(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

// reason returns the reason of an error of Boardwire. It is empty for other errors, such as a lost connection.
func reason(err error) string {
	details, _ := status.FromError(err)
	for _, detail := range details.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.Reason
		}
	}
	return ""
}

// needsObserve returns whether the agent must observe again: the host has ended or replaced the episode, or time has
// run out.
func needsObserve(err error) bool {
	switch reason(err) {
	case "DECISION_STALE", "DECISION_LATE", "EPISODE_OVER", "NOT_YOUR_TURN":
		return true
	}
	return false
}

// retryState counts consecutive failures. The pause grows with each failure, and more than 10 failures are an error.
type retryState struct {
	failures int
	last     time.Time
}

// wait returns nil when it is time to retry, and the error if a retry cannot help.
func (r *retryState) wait(err error) error {
	code, why := status.Code(err), reason(err)
	// With TIMED_OUT, the server noticed the deadline before the client did.
	isTransient := code == codes.Unavailable || code == codes.ResourceExhausted || why == "" || why == "TIMED_OUT"
	if time.Since(r.last) > time.Minute {
		r.failures = 0 // After a minute without a failure, the count restarts.
	}
	r.last = time.Now()
	r.failures++
	if !isTransient || r.failures > 10 {
		return fmt.Errorf("%w %s", err, why)
	}
	pause := 50 * time.Millisecond << r.failures
	if pause > 5*time.Second {
		pause = 5 * time.Second
	}
	time.Sleep(pause)
	return nil
}

// callWithRetry retries a call until there is a response. Each attempt has a deadline. The method must be idempotent.
func callWithRetry(call func(ctx context.Context) error) error {
	once := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		return call(ctx)
	}
	for retries := (retryState{}); ; {
		err := once()
		if err == nil {
			return nil
		}
		if err := retries.wait(err); err != nil {
			return err
		}
	}
}

// thinkTime returns how long `boardwire agent-check` asks the agent to wait before each action.
func thinkTime() time.Duration {
	seconds, _ := strconv.ParseFloat(os.Getenv("BOARDWIRE_CHECK_THINK"), 64)
	return time.Duration(seconds * float64(time.Second))
}

// uuid returns a random UUID for a request id.
func uuid() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// members returns the members of a bit set: action i is bit i % 8 of byte i / 8.
func members(mask []byte) []uint32 {
	var all []uint32
	for i := 0; i < 8*len(mask); i++ {
		if mask[i/8]>>(i%8)&1 == 1 {
			all = append(all, uint32(i))
		}
	}
	return all
}
