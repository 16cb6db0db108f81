#include "audit/checkpoint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "audit/files.h"
#include "audit/record.h"
#include "audit/signing.h"

namespace cordon::audit {
namespace {

constexpr std::string_view kBeforeSignature = ",\"signature\":\"";
constexpr std::size_t kSignatureDigits = 128;
constexpr std::size_t kTail = kBeforeSignature.size() + kSignatureDigits + 2;
constexpr std::array<std::string_view, 8> kCheckpointKeys{
    "v", "seq", "hash", "day", "timestamp", "reason", "public_key", "signature"};

Error odd_checkpoint() { return audit_error("the checkpoint is not as published", 0); }

}  // namespace

Checkpoint make_checkpoint(const Link& last, const std::string& day, std::string_view reason,
                           std::int64_t wall_us, const Key& seed) {
  Checkpoint checkpoint;
  checkpoint.seq = last.seq;
  checkpoint.hash = to_hex(last.hash);
  checkpoint.day = day;
  checkpoint.timestamp = format_moment(wall_us);
  checkpoint.reason = std::string(reason);
  checkpoint.public_key = public_key_of(seed);
  Node node;
  node.set("v", 1)
      .set("seq", Node(checkpoint.seq))
      .set("hash", checkpoint.hash)
      .set("day", checkpoint.day)
      .set("timestamp", checkpoint.timestamp)
      .set("reason", checkpoint.reason)
      .set("public_key", checkpoint.public_key);
  std::string line = write_json(node, JsonStyle::Compact);
  line.pop_back();
  const std::string signature = sign(seed, line);
  checkpoint.line = line.append(kBeforeSignature).append(signature).append("\"}");
  return checkpoint;
}

Result<Checkpoint> read_checkpoint(std::string_view line) {
  if (line.size() < kTail || line.size() > kLongestLine ||
      line.substr(line.size() - kTail, kBeforeSignature.size()) != kBeforeSignature) {
    return fail(odd_checkpoint());
  }
  const auto read = read_json(line, "checkpoint");
  const bool as_published =
      read && read->map() != nullptr &&
      std::ranges::equal(*read->map(), kCheckpointKeys, {}, &NodeMap::value_type::first);
  if (!as_published || number_in(*read, "v") != 1) return fail(odd_checkpoint());
  Checkpoint checkpoint;
  checkpoint.seq = static_cast<std::uint64_t>(number_in(*read, "seq").value_or(0));
  checkpoint.hash = text_in(*read, "hash").value_or("");
  checkpoint.day = text_in(*read, "day").value_or("");
  checkpoint.timestamp = text_in(*read, "timestamp").value_or("");
  checkpoint.reason = text_in(*read, "reason").value_or("");
  checkpoint.public_key = text_in(*read, "public_key").value_or("");
  checkpoint.line = std::string(line);
  if (!parse_moment(checkpoint.timestamp)) return fail(odd_checkpoint());
  if (!signature_holds(checkpoint.public_key, line.substr(0, line.size() - kTail),
                       text_in(*read, "signature").value_or(""))) {
    return fail(audit_error("the signature of the checkpoint does not hold", 0));
  }
  return checkpoint;
}

Result<void> append_checkpoint(int directory, const Checkpoint& checkpoint) {
  CORDON_TRY(file, open_private_file(directory, kCheckpointFile, O_RDWR | O_APPEND | O_CREAT));
  struct stat before {};
  const std::string line = checkpoint.line + "\n";
  if (::fstat(file.get(), &before) != 0) {
    return fail(audit_error("cannot examine audit/checkpoints.jsonl", errno));
  }
  const ssize_t put = ::write(file.get(), line.data(), line.size());
  if (put != static_cast<ssize_t>(line.size()) || ::fsync(file.get()) != 0 ||
      ::fsync(directory) != 0) {
    const int why = put < 0 || put == static_cast<ssize_t>(line.size()) ? errno : ENOSPC;
    (void)!::ftruncate(file.get(), before.st_size);
    return fail(audit_error("cannot write audit/checkpoints.jsonl", why));
  }
  return {};
}

Result<std::vector<StoredCheckpoint>> read_checkpoints(int directory) {
  std::vector<StoredCheckpoint> found;
  auto file = open_private_file(directory, kCheckpointFile, O_RDONLY);
  if (!file && file.error().error_number == ENOENT) return found;
  if (!file) return fail(std::move(file).error());
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) {
    return fail(audit_error("cannot examine audit/checkpoints.jsonl", errno));
  }
  LineReader reader(file->get(), 0, static_cast<std::uint64_t>(status.st_size));
  Line line;
  for (;;) {
    CORDON_TRY(more, reader.next(line));
    if (!more) return found;
    found.push_back({line.number, read_checkpoint(line.text)});
  }
}

}  // namespace cordon::audit
