// What any agent in C++ needs around the generated stubs: a channel, patience, masks, views, the reasons of refusals.

#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "boardwire/v1/catalog.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

/// A channel to host:port or unix:/path. It connects at the first call, and again after it has lost its connection.
inline std::shared_ptr<grpc::Channel> connect(const std::string& address) {
  grpc::ChannelArguments settings;
  // A stream may be silent for as long as others think: pings tell whether the server is still there.
  settings.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  settings.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  settings.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // What a server sends at most; the library takes 4 MiB otherwise.
  settings.SetMaxReceiveMessageSize(64 << 20);
  // The library would send the path of a socket as the authority, which is none.
  if (address.rfind("unix:", 0) == 0) settings.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), settings);
}

/// Why the server refused. Empty for what does not come from Boardwire, such as a lost connection.
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

/// A refusal that came as an answer on a stream, as the status that a single call would have ended with.
inline grpc::Status refusal(const google::rpc::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), status.message(), status.SerializeAsString()};
}

/// Whether the host has begun another episode, or ended this one, or time has run out: then an agent observes
/// again.
inline bool looks_again(const std::string& reason) {
  return reason == "DECISION_STALE" || reason == "DECISION_LATE" || reason == "EPISODE_OVER" ||
         reason == "NOT_YOUR_TURN";
}

/// Bears failures in a row: waits longer after each, and gives up in the end.
class Patience {
 public:
  /// Returns when it is time to try again; throws a refusal, which would come again.
  void wait(const grpc::Status& status) {
    const std::string why = reason(status);
    // The server tells of a deadline too, if it notices first.
    const bool passes = status.error_code() == grpc::UNAVAILABLE ||
                        status.error_code() == grpc::RESOURCE_EXHAUSTED || why.empty() || why == "TIMED_OUT";
    // Failures longer ago are not in a row with this one.
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ > std::chrono::minutes(1)) failures_ = 0;
    last_ = now;
    if (!passes || ++failures_ > 10) throw std::runtime_error(status.error_message() + " " + why);
    std::this_thread::sleep_for(std::min(std::chrono::milliseconds(50 << failures_), std::chrono::milliseconds(5000)));
  }

  void reset() { failures_ = 0; }

 private:
  int failures_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

/// Waits until there is a connection: nobody looks after a new one while this thread sleeps.
inline void await_server(grpc::Channel& channel) {
  if (!channel.WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(30)))
    throw std::runtime_error("no server answers");
}

/// Calls until there is an answer, each time with a deadline: for methods that are safe to repeat.
template <class Call>
void insist(grpc::Channel& channel, Call call) {
  for (Patience patience;;) {
    await_server(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    const grpc::Status status = call(&context);
    if (status.ok()) return;
    patience.wait(status);
  }
}

/// A fresh random UUID, which makes a request safe to repeat.
inline std::string uuid() {
  std::random_device random;
  char text[37];
  std::snprintf(text, sizeof text, "%08x-%04x-4%03x-a%03x-%08x%04x", random(), random() & 0xffff,
                random() & 0xfff, random() & 0xfff, random(), random() & 0xffff);
  return text;
}

/// The members of a set of bits: action i is bit i % 8 of byte i / 8.
inline std::vector<uint32_t> members(const std::string& mask) {
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < 8 * mask.size(); ++i)
    if (mask[i / 8] >> (i % 8) & 1) all.push_back(i);
  return all;
}

/// The values of one of `GameSpec.fields` in a view, the last axis fastest. Where a field has values above 255, each
/// takes two bytes, low byte first. What they mean, the rows of a table for instance, says `field.kind()`.
inline std::vector<uint32_t> values(const boardwire::v1::ViewField& field, const std::string& view) {
  size_t count = 1;
  for (const auto& axis : field.axes()) count *= axis.size();
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(view.at(field.offset() + at)); };
  std::vector<uint32_t> all;
  for (size_t i = 0; i < count; ++i)
    all.push_back(field.max() > 255 ? byte(2 * i) | byte(2 * i + 1) << 8 : byte(i));
  return all;
}

/// Numbers as words, each after a space.
template <class Numbers>
std::string words(const Numbers& numbers) {
  std::string all;
  for (const auto number : numbers) all += ' ' + std::to_string(number);
  return all;
}

/// A view in words, a line a field.
inline std::string fields(const boardwire::v1::GameSpec& spec, const std::string& view) {
  std::string all;
  for (const auto& field : spec.fields()) all += "view " + field.name() + words(values(field, view)) + '\n';
  return all;
}
