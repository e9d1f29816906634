// Helpers for agents in C++: a channel, retries, masks, views, and reasons of errors.

#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "boardwire/v1/catalog.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

/// Returns credentials for TLS with the CA in the file BOARDWIRE_CA, or for plaintext without that variable.
inline std::shared_ptr<grpc::ChannelCredentials> credentials() {
  const char* ca = std::getenv("BOARDWIRE_CA");
  if (!ca) return grpc::InsecureChannelCredentials();
  std::ifstream file(ca);
  grpc::SslCredentialsOptions options;
  options.pem_root_certs.assign(std::istreambuf_iterator<char>(file), {});
  if (options.pem_root_certs.empty()) throw std::runtime_error(std::string("cannot read BOARDWIRE_CA: ") + ca);
  return grpc::SslCredentials(options);
}

/// Adds the token of the account to a call.
inline void add_account(grpc::ClientContext& context) {
  if (const char* token = std::getenv("BOARDWIRE_ACCOUNT_TOKEN")) context.AddMetadata("boardwire-token", token);
}

/// Returns a channel to host:port or unix:/path. It connects at the first call and reconnects after a lost connection.
inline std::shared_ptr<grpc::Channel> connect(const std::string& address) {
  grpc::ChannelArguments settings;
  // A stream can be silent while other players choose. Pings detect a lost server.
  settings.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  settings.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  settings.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // The largest message of a server. The default of the library is 4 MiB.
  settings.SetMaxReceiveMessageSize(64 << 20);
  // By default the library sends the path of the socket as authority, which is invalid.
  if (address.rfind("unix:", 0) == 0) settings.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  return grpc::CreateCustomChannel(address, credentials(), settings);
}

/// Returns the reason of an error of Boardwire, or an empty string for other errors, such as a lost connection.
inline std::string reason(const google::rpc::Status& status) {
  google::rpc::ErrorInfo info;
  for (const auto& detail : status.details())
    if (detail.UnpackTo(&info)) return info.reason();
  return "";
}

inline std::string reason(const grpc::Status& status) {
  google::rpc::Status details;
  return details.ParseFromString(status.error_details()) ? reason(details) : "";
}

/// Converts an error on a stream to the status of a failed call.
inline grpc::Status stream_error_status(const google::rpc::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), status.message(), status.SerializeAsString()};
}

/// Returns whether the agent must observe again: the host has ended or replaced the episode, or time has run out.
inline bool needs_observe(const std::string& reason) {
  return reason == "DECISION_STALE" || reason == "DECISION_LATE" || reason == "EPISODE_OVER" ||
         reason == "NOT_YOUR_TURN";
}

/// Returns how long `boardwire agent-check` asks the agent to wait before each action.
inline std::chrono::duration<double> think_time() {
  const char* seconds = std::getenv("BOARDWIRE_CHECK_THINK");
  return std::chrono::duration<double>(seconds ? std::stod(seconds) : 0);
}

/// Counts consecutive failures. The pause grows with each failure, and more than 10 failures are an error.
class Backoff {
 public:
  /// Returns when it is time to retry. Throws the status if a retry cannot help.
  void wait(const grpc::Status& status) {
    const std::string why = reason(status);
    // With TIMED_OUT, the server noticed the deadline before the client did.
    const bool is_transient = status.error_code() == grpc::UNAVAILABLE ||
                              status.error_code() == grpc::RESOURCE_EXHAUSTED || why.empty() || why == "TIMED_OUT";
    // After a minute without a failure, the count restarts.
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ > std::chrono::minutes(1)) failures_ = 0;
    last_ = now;
    if (!is_transient || ++failures_ > 10) throw std::runtime_error(status.error_message() + " " + why);
    std::this_thread::sleep_for(std::min(std::chrono::milliseconds(50 << failures_), std::chrono::milliseconds(5000)));
  }

  void reset() { failures_ = 0; }

 private:
  int failures_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

/// Waits until the channel is connected. The library does not reconnect while this thread sleeps.
inline void await_server(grpc::Channel& channel) {
  if (!channel.WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(30)))
    throw std::runtime_error("the server is not reachable");
}

/// Retries a call until there is a response. Each attempt has a deadline. The method must be idempotent.
template <class Call>
void call_with_retry(grpc::Channel& channel, Call call) {
  for (Backoff backoff;;) {
    await_server(channel);
    grpc::ClientContext context;
    add_account(context);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    const grpc::Status status = call(&context);
    if (status.ok()) return;
    backoff.wait(status);
  }
}

/// Returns a random UUID for a request id.
inline std::string uuid() {
  std::random_device random;
  char text[37];
  std::snprintf(text, sizeof text, "%08x-%04x-4%03x-a%03x-%08x%04x", random(), random() & 0xffff,
                random() & 0xfff, random() & 0xfff, random(), random() & 0xffff);
  return text;
}

/// Returns the members of a bit set: action i is bit i % 8 of byte i / 8.
inline std::vector<uint32_t> members(const std::string& mask) {
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < 8 * mask.size(); ++i)
    if (mask[i / 8] >> (i % 8) & 1) all.push_back(i);
  return all;
}

/// Returns the values of a field in a view, the last axis fastest. If the maximum of the field is above 255, each value
/// has two bytes, low byte first. `field.kind()` has the meaning of the values.
inline std::vector<uint32_t> values(const boardwire::v1::ViewField& field, const std::string& view) {
  size_t count = 1;
  for (const auto& axis : field.axes()) count *= axis.size();
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(view.at(field.offset() + at)); };
  std::vector<uint32_t> all;
  for (size_t i = 0; i < count; ++i)
    all.push_back(field.max() > 255 ? byte(2 * i) | byte(2 * i + 1) << 8 : byte(i));
  return all;
}

/// Returns numbers as text, each after a space.
template <class Numbers>
std::string with_spaces(const Numbers& numbers) {
  std::string all;
  for (const auto number : numbers) all += ' ' + std::to_string(number);
  return all;
}

/// Returns a view as text, one line per field.
inline std::string fields(const boardwire::v1::GameSpec& spec, const std::string& view) {
  std::string all;
  for (const auto& field : spec.fields()) all += "view " + field.name() + with_spaces(values(field, view)) + '\n';
  return all;
}
