// What a set-up finds, and what it would write: the ceiling, a project's policy and, for an
// installation of its own, the file with its variables. Looking changes nothing. Writing only ever
// adds a file: one that is there is the operator's.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cordon/outcome.h"
#include "host/on_path.h"
#include "policy/host_facts.h"

namespace cordon::setup {

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

struct Wish {
  std::string name;      // of the policy; empty: made from the current directory
  std::string env_file;  // as written; empty: the user's own installation
};

struct Prospect {
  Caller caller;  // with the directories of the installation
  std::string name;
  std::vector<Document> documents;
  std::vector<std::string> toolchains;
  std::vector<FoundAgent> agents;
  // What the ceilings of the finished installation take from the policy here.
  std::vector<Reduction> reductions;
  std::vector<std::string> notes;  // what a ceiling that is there lacks on this host
};

// A directory that is there belongs to the caller, and nobody else may write it; one that is not
// could be made by the caller in a place of their own.
Result<void> check_directory(const std::string& path, const Caller& caller);

// An error if a directory or file that is there cannot be trusted, if a document that is there is
// not valid, or if the current directory is none that a policy could make writable.
Result<Prospect> look_around(const Wish& wish, const Caller& caller);

// Makes the directory if need be, owner-only, and the file in it at once, 0600. Answers with what
// stood there before: somebody may have been faster, and then it is looked at and left.
Result<Standing> write_document(const Document& document, const Caller& caller);

}  // namespace cordon::setup
