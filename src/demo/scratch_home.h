// A home made for one demonstration: documents, a key, a diary, and a ceiling of its own. Nothing
// of the user's is in it, and it is removed with everything that was done to it.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "policy/host_facts.h"

namespace cordon::demo {

class ScratchHome {
 public:
  // In Cordon's own state directory, which every sandbox hides: anywhere else a contained command
  // could leave a home with forged notes for the next demonstration to act on. Also removes what
  // one that was killed left there, its cgroups included.
  static Result<ScratchHome> make(const Caller& caller);
  ScratchHome(ScratchHome&& other) noexcept;
  ScratchHome& operator=(ScratchHome&&) = delete;
  ScratchHome(const ScratchHome&) = delete;
  ScratchHome& operator=(const ScratchHome&) = delete;
  ~ScratchHome();

  // A word that no other process carries in its command line.
  [[nodiscard]] const std::string& token() const { return name_; }
  [[nodiscard]] std::string at(std::string_view path) const;  // below the home
  // Who lives there: the same user with this home, and a variable that holds a secret.
  [[nodiscard]] Caller resident(Caller caller) const;

  // Texts that are planted, to be looked for where they must not appear.
  static constexpr std::string_view kReport = "quarterly report: all quiet";
  static constexpr std::string_view kDiary = "PLANTED-DIARY-7f1c";
  static constexpr std::string_view kKey = "PLANTED-KEY-93ab";
  static constexpr std::string_view kPassword = "DB_PASSWORD=PLANTED-PASSWORD-c04d";
  static constexpr const char* kVariable = "DEMO_API_KEY";
  static constexpr std::string_view kVariableValue = "PLANTED-VARIABLE-55e2";

 private:
  ScratchHome(Fd parent, Fd directory, std::string parent_path, std::string name);
  [[nodiscard]] Result<void> furnish() const;

  Fd parent_;
  Fd directory_;  // holds a lock while this process lives
  std::string parent_path_;
  std::string name_;
};

}  // namespace cordon::demo
