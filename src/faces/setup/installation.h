// What a set-up finds, and what it would write: the ceiling, a project's policy and, for an
// installation of its own, the file with its variables. Looking changes nothing. Writing only ever
// adds a file: one that is there is the operator's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cordon/outcome.h"
#include "host/writable.h"
#include "policy/agents.h"
#include "policy/host_facts.h"
#include "run/key_place.h"

namespace cordon::setup {

// The name of a project's policy: what is typed after --policy, and a file name in policies/.

// Letters, digits, '.', '_' and '-', beginning with a letter or digit, at most 64. A preset cannot
// be shadowed, and a name that ends in .toml or .json would be taken for a file.
Result<void> check_project_name(std::string_view name);

// A name that check_project_name() accepts, made from the last component of a directory, whatever
// bytes it holds.
std::string project_name_of(std::string_view directory);

// The texts that `cordon setup` writes. They depend on nothing but what is passed in, so that a
// second set-up knows its own files by their bytes; what an operator changed differs from them.

// Namespaces: this host permits nothing better than the backend landlock, and the ceiling accepts
// what that one goes without.
enum class AcceptMissing { Nothing, Namespaces };
// Of the agents that were found, those whose needs are known: their hosts are permitted.
using Needs = std::vector<const AgentNeeds*>;
std::string ceiling_text(AcceptMissing accept, const Needs& agents);
// `name` is accepted by check_project_name().
std::string policy_text(const std::string& name);

// The variables of a separate installation, for CORDON_ENV_FILE and for a shell. The paths need no
// quoting.
struct Variables {
  std::string config_home;
  std::string state_home;
};
std::string variables_text(const Variables& variables);

// An installation beside the user's own: test and production agents whose ceilings, policies and
// audit logs have no file in common.

struct Separate {
  std::string directory;  // of the file with the variables
  std::string file;       // its name there, ending in .env
  Variables variables;    // directories that carry the file's name: NAME/config, NAME/state
};

// `written` names the file, relative to the current directory or absolute. Refused: a place inside
// the project, where a run could rewrite it; a spelling that a shell would have to quote; a place
// that would not count because a variable that is set already leads elsewhere.
Result<Separate> separate_installation(const std::string& written, const Caller& caller);

// The caller as that installation sees it.
Caller within(const Separate& separate, Caller caller);

enum class Role { Ceiling, Policy, Variables };
enum class Standing {
  Missing,
  Current,  // byte for byte what set-up writes
  Edited,   // valid, and somebody else's text
};
std::string_view name_of(Role role);

struct Document {
  Role role = Role::Ceiling;
  std::string directory;
  std::string name;
  std::string text;
  Standing standing = Standing::Missing;
  [[nodiscard]] std::string path() const;
};

struct SetupRequest {
  std::string name;      // of the policy; empty: made from the current directory
  std::string env_file;  // as written; empty: the user's own installation
};

struct Prospect {
  Caller caller;  // with the directories of the installation
  std::string name;
  std::vector<Document> documents;
  std::vector<std::string> toolchains;
  std::vector<FoundAgent> agents;
  // Where the key of each of those is, under the ceilings of the finished installation; of one that
  // Cordon knows nothing of, nothing.
  std::vector<std::optional<KeyPlace>> keys;
  // What the ceilings of the finished installation take from the policy here.
  std::vector<Reduction> reductions;
  std::vector<std::string> notes;  // what a ceiling that is there lacks on this host
};

// A directory that is there belongs to the caller, and nobody else may write it; one that is not
// could be made by the caller in a place of their own.
Result<void> check_directory(const std::string& path, const Caller& caller);

// An error if a directory or file that is there cannot be trusted, if a document that is there is
// not valid, or if the current directory is none that a policy could make writable.
Result<Prospect> look_around(const SetupRequest& wish, const Caller& caller);

// Makes the directory if need be, owner-only, and the file in it at once, 0600. Answers with what
// stood there before: somebody may have been faster, and then it is looked at and left.
Result<Standing> write_document(const Document& document, const Caller& caller);

}  // namespace cordon::setup
