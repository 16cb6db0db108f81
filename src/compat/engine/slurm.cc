// A policy as a batch job of Slurm: a script that starts `cordon run` on a node, and the policy
// beside it. Nothing is lost on the way, since the node's own Cordon holds it, under the ceilings
// of that node; the scheduler is asked for the same limits, so that it places the job well.
#include <algorithm>

#include "base/path.h"
#include "base/text.h"
#include "compat/engine/engine.h"
#include "config/policy_document.h"

namespace cordon {
namespace {

constexpr std::uint64_t kMinuteMilliseconds = 60'000;
constexpr std::uint64_t kMebibyte = 1ULL << 20;
constexpr std::uint64_t kWhole = 1000;  // thousandths of a processor
constexpr std::string_view kPolicyName = "policy.toml";

// An entry that is relative to where it stood means the same from the new place.
void make_absolute(PathRule& rule) {
  const std::string& text = rule.text;
  const bool place = text.starts_with('/') || text.starts_with('~') || text.starts_with('@');
  if (!place && !rule.base.empty()) rule.text = normalize(join(rule.base, text));
  rule.base.clear();
}

Policy portable(Policy policy) {
  for (auto* list : {&policy.fs.read, &policy.fs.write, &policy.net.sockets})
    std::ranges::for_each(*list, make_absolute);
  for (PathRule& rule : policy.fs.deny) {
    // Without '/' it is a name at any depth.
    if (rule.text.find('/') != std::string::npos) make_absolute(rule);
  }
  return policy;
}

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit;
}

// The limits as what is asked of the scheduler, so that it places a task well.
std::vector<std::string> asked_of_scheduler(const Limits& limits) {
  std::vector<std::string> options{"ntasks=1"};
  if (limits.cpus_milli) {
    options.push_back("cpus-per-task=" + std::to_string(rounded_up(*limits.cpus_milli, kWhole)));
  }
  if (limits.memory)
    options.push_back("mem=" + std::to_string(rounded_up(*limits.memory, kMebibyte)) + "M");
  // A minute more than Cordon's own clock, which tells a timeout from an exit status.
  if (limits.wall_ms) {
    options.push_back("time=" +
                      std::to_string(rounded_up(*limits.wall_ms, kMinuteMilliseconds) + 1));
  }
  return options;
}

// A directive ends with its line, and Slurm reads no quotes in it.
bool fits_directive(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '\'' || c == '\\' || c == '#' ||
           c == '%';
  });
}

}  // namespace

Result<SlurmJob> slurm_job(const Policy& policy) {
  return SlurmJob{write_toml(portable(policy)), asked_of_scheduler(policy.limits)};
}

Result<EngineExport> export_slurm(const EngineRequest& request, const Policy& policy,
                                  const SlurmOptions& options) {
  for (const std::string& text : {options.name, options.partition.value_or("x"), request.cwd}) {
    if (fits_directive(text)) continue;
    return fail(usage_error(quote(text) + " cannot stand in a directive of Slurm",
                            "use a name without blanks, quotes, # and %"));
  }
  const Limits& limits = policy.limits;
  std::string script = "#!/bin/sh\n";
  const auto directive = [&](const std::string& text) { script += "#SBATCH --" + text + "\n"; };
  directive("job-name=" + options.name);
  if (options.partition) directive("partition=" + *options.partition);
  directive("chdir=" + request.cwd);
  CORDON_TRY(job, slurm_job(policy));
  for (const std::string& option : job.options) directive(option);
  // The signal reaches the script's shell, which has become Cordon by then.
  directive("signal=B:TERM@30");
  directive("no-requeue");
  directive("export=NONE");
  std::vector<std::string> words = {options.cordon, "run", "--policy",
                                    join(options.directory, kPolicyName), "--"};
  words.insert(words.end(), request.argv.begin(), request.argv.end());
  script += "exec " + shell_line(words) + "\n";

  LossReport report(request.given_up);
  report.carried("policy", "whole: cordon run on the node holds it, under the ceilings there");
  report.weakened("paths",
                  "they are those of the node: the current directory and every grant have "
                  "to be there as well, on a shared file system or by copy");
  if (!policy.env.pass.empty()) {
    report.weakened("env.pass", "values are those of the node's environment: --export=NONE");
  }
  if (limits.memory) report.carried("limits.memory", "asked of the scheduler as well: --mem");
  if (limits.cpus_milli) {
    report.carried("limits.cpus", "asked of the scheduler in whole processors as well");
  }
  if (limits.wall_ms) report.carried("limits.wall", "asked of the scheduler with a minute more");
  if (policy.fs.mode == WriteMode::Staged) {
    report.weakened("fs.mode", "the stage is kept on the node: cordon changes is typed there");
  }
  if (!policy.net.publish.empty()) {
    report.weakened("net.publish", "the port is one of the node's loopback");
  }
  report.carried("audit", "the log of the user on the node");
  CORDON_TRY(account, report.settle(Engine::Slurm));
  EngineExport made;
  made.document = "job.sh";
  made.entries.push_back({made.document, ArtefactEntry::Kind::File, script, 0700});
  made.entries.push_back(
      {std::string(kPolicyName), ArtefactEntry::Kind::File, std::move(job.policy), 0600});
  made.account = std::move(account);
  return made;
}

}  // namespace cordon
