// cordon export: from the options of a run to what another engine starts.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/path.h"
#include "base/text.h"
#include "compat/engine/engine.h"
#include "config/node.h"
#include "faces/cli/console.h"
#include "faces/cli/helper_program.h"
#include "faces/cli/policy_options.h"
#include "faces/cli/verbs.h"
#include "host/inspect.h"
#include "host/own_programs.h"
#include "host/resolve.h"
#include "run/answers.h"
#include "run/judge.h"

namespace cordon {
namespace {

struct Exported {
  EngineExport made;
  std::string directory;  // where it is written; empty: nowhere
};

// What the options of the command line come to.
struct ExportOptions {
  Caller caller;
  AskedPolicy asked;
  std::vector<std::string> argv;
  std::vector<std::string> given_up;
  std::string out;  // absolute; empty: nothing is written
};

Result<ExportOptions> export_options(const Arguments& arguments) {
  if (arguments.operands.empty()) {
    return fail(usage_error("no command was given",
                            "cordon export oci|kube|slurm [OPTION]... [--] CMD [ARG]..."));
  }
  ExportOptions wish;
  CORDON_TRY(caller, identify_caller());
  wish.caller = std::move(caller);
  CORDON_TRY(asked, asked_policy(arguments, wish.caller));
  wish.asked = std::move(asked);
  for (const std::string_view word : arguments.operands) wish.argv.emplace_back(word);
  for (const std::string_view words : arguments.values(FlagId::Drop)) {
    for (const std::string_view word : split(words, ',')) {
      if (word.empty()) return fail(usage_error("--drop names nothing", "write --drop KEY,..."));
      wish.given_up.emplace_back(word);
    }
  }
  CORDON_CHECK(give_up_restrictions(wish.asked.policy, wish.given_up));
  if (const auto out = arguments.value(FlagId::Out)) {
    CORDON_TRY(place, canonicalize(std::string(*out), wish.caller.cwd, wish.caller));
    if (place.kind != FileKind::Absent) {
      return fail(
          usage_error(quote(*out) + " is there already", "name a directory that is not there yet"));
    }
    wish.out = place.path;
  }
  return wish;
}

// The command could rewrite what bounds it.
Result<void> refuse_within_grant(const ExportOptions& wish, const Effective& effective) {
  for (const Grant& grant : effective.write) {
    if (wish.out.empty() || !contains(grant.path, wish.out)) continue;
    return fail(
        usage_error("--out " + quote(wish.out) + " lies in the writable grant " + quote(grant.path),
                    "the command could rewrite it: name a directory outside of it, such "
                    "as one in the home"));
  }
  return {};
}

Result<Judgement> judged_for_export(const ExportOptions& wish) {
  CORDON_TRY(judgement, judge_policy(wish.asked.policy, wish.asked.ceilings, wish.caller,
                                     {{}, wish.caller.cwd, Keep::Something}));
  CORDON_CHECK(refuse_within_grant(wish, judgement.clamped.effective()));
  // A runtime would follow a link that lies on the way to something protected, and mount what it
  // leads to: it stays as it is, and no name behind it is held.
  std::erase_if(judgement.survey.facts.pinned, [](const Pinned& pinned) {
    struct stat status {};
    return ::lstat(pinned.path.c_str(), &status) < 0 || S_ISLNK(status.st_mode);
  });
  return judgement;
}

EngineRequest engine_request(const ExportOptions& wish, const Judgement& judgement) {
  return {judgement.clamped, judgement.survey.facts, wish.caller,
          wish.argv,         wish.caller.cwd,        wish.given_up};
}

Result<Exported> for_oci(const Arguments& arguments) {
  CORDON_TRY(wish, export_options(arguments));
  CORDON_TRY(judgement, judged_for_export(wish));
  CORDON_TRY(inside, own_program(wish.caller, "cordon-inside"));
  CORDON_TRY(made, export_oci(engine_request(wish, judgement), inside));
  return Exported{std::move(made), wish.out};
}

Result<std::string> object_name(const Arguments& arguments) {
  const std::string name(arguments.value(FlagId::ObjectName).value_or("cordon"));
  if (is_object_name(name)) return name;
  return fail(usage_error("--job-name " + quote(name) + " is not the name of an object",
                          "write small letters, digits and '-', at most 63 of them"));
}

Result<KubeOptions> kube_options(const Arguments& arguments) {
  KubeOptions options;
  CORDON_TRY(name, object_name(arguments));
  options.name = std::move(name);
  const auto image = arguments.value(FlagId::Image);
  if (!image || !is_by_digest(*image)) {
    return fail(usage_error(image ? "--image " + quote(*image) + " is not an image by its digest"
                                  : "--image is missing",
                            "write NAME@sha256:DIGEST: a tag may mean another image tomorrow"));
  }
  options.image = std::string(*image);
  if (const auto kind = arguments.value(FlagId::ObjectKind); kind && *kind != "job") {
    if (*kind != "pod" && *kind != "sandbox") {
      return fail(
          usage_error("--kind " + quote(*kind) + " is not known", "write job, pod or sandbox"));
    }
    options.kind = *kind == "pod" ? KubeOptions::Kind::Pod : KubeOptions::Kind::Sandbox;
  }
  if (const auto inside = arguments.value(FlagId::InsideProgram)) {
    if (!inside->starts_with('/')) {
      return fail(usage_error("--inside " + quote(*inside) + " is not absolute",
                              "write the path that the image has it at"));
    }
    options.inside = std::string(*inside);
  }
  if (const auto runtime = arguments.value(FlagId::RuntimeClass)) {
    if (!is_object_name(*runtime)) {
      return fail(
          usage_error("--runtime-class " + quote(*runtime) + " is not the name of an object",
                      "kubectl get runtimeclass lists them"));
    }
    options.runtime_class = std::string(*runtime);
  }
  if (const auto policy = arguments.value(FlagId::NodePolicy)) {
    if (!is_policy_name(*policy)) {
      return fail(usage_error("--node-policy " + quote(*policy) + " is not the name of a policy",
                              "write NAME of /etc/cordon/policies/NAME.toml on the nodes"));
    }
    options.node_policy = std::string(*policy);
  }
  return options;
}

Result<Exported> for_kube(const Arguments& arguments) {
  CORDON_TRY(options, kube_options(arguments));
  CORDON_TRY(wish, export_options(arguments));
  CORDON_TRY(judgement, judged_for_export(wish));
  CORDON_TRY(made, export_kube(engine_request(wish, judgement), options));
  return Exported{std::move(made), wish.out};
}

Result<Exported> for_slurm(const Arguments& arguments) {
  CORDON_TRY(wish, export_options(arguments));
  CORDON_TRY(judgement, judged_for_export(wish));
  SlurmOptions options;
  CORDON_TRY(name, object_name(arguments));
  options.name = std::move(name);
  options.directory = wish.out.empty() ? wish.caller.cwd : wish.out;
  CORDON_TRY(program, main_program());
  options.cordon = std::move(program);
  if (const auto partition = arguments.value(FlagId::Partition)) {
    options.partition = std::string(*partition);
  }
  CORDON_TRY(made, export_slurm(engine_request(wish, judgement), wish.asked.policy, options));
  return Exported{std::move(made), wish.out};
}

Node account_node(const std::vector<Carriage>& account) {
  NodeList list;
  for (const Carriage& one : account) {
    list.push_back(Node().set("key", one.key).set("how", name_of(one.how)).set("words", one.words));
  }
  return list;
}

std::string export_json(Engine engine, const Result<Exported>& done) {
  Node node{NodeMap{}};
  node.set("schema", "cordon.export/1").set("engine", name_of(engine));
  node.set("directory", done && !done->directory.empty() ? Node(done->directory) : Node());
  Node document;
  if (done) {
    for (const ArtefactEntry& entry : done->made.entries) {
      if (entry.path == done->made.document) document = Node(entry.content);
    }
  }
  node.set("document", std::move(document));
  node.set("account", done ? account_node(done->made.account) : Node(NodeList{}));
  node.set("error", done ? Node() : error_object(done.error()));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

Result<void> write_export(const Exported& exported) {
  std::vector<ArtefactEntry> entries = exported.made.entries;
  entries.push_back({"losses.json", ArtefactEntry::Kind::File,
                     write_json(account_node(exported.made.account), JsonStyle::Pretty) + "\n",
                     0644});
  return write_entries(exported.directory, entries);
}

void say_account(const std::vector<Carriage>& account) {
  for (const Carriage& one : account) {
    if (one.how == Carriage::How::Carried) continue;
    say("cordon: " + std::string(name_of(one.how)) + " " + sanitize(one.key) + ": " +
        sanitize(one.words) + "\n");
  }
}

// A document that was only printed may name files that belong to it.
void say_what_is_missing(const EngineExport& made) {
  if (made.entries.size() < 2) return;
  say("cordon: only " + made.document +
      " is printed, and what it names beside it was not written; --out DIR writes all of it\n");
}

int finish_export(const Arguments& arguments, Engine engine, Result<Exported> done) {
  if (done && !done->directory.empty()) {
    if (auto written = write_export(*done); !written) done = fail(std::move(written).error());
  }
  if (!done) say_error(done.error());
  if (arguments.has(FlagId::Json)) {
    if (!say_answer(export_json(engine, done))) return kAnswerError;
  } else if (done) {
    say_account(done->made.account);
    if (done->directory.empty()) {
      say_what_is_missing(done->made);
      for (const ArtefactEntry& entry : done->made.entries) {
        if (entry.path == done->made.document && !say_answer(entry.content)) return kAnswerError;
      }
    } else if (!say_answer(join(done->directory, done->made.document) + "\n")) {
      return kAnswerError;
    }
  }
  return done ? kAnswerYes : kAnswerError;
}

}  // namespace

int verb_export_oci(const Arguments& arguments) {
  return finish_export(arguments, Engine::Oci, for_oci(arguments));
}

int verb_export_kube(const Arguments& arguments) {
  return finish_export(arguments, Engine::Kube, for_kube(arguments));
}

int verb_export_slurm(const Arguments& arguments) {
  return finish_export(arguments, Engine::Slurm, for_slurm(arguments));
}

}  // namespace cordon
