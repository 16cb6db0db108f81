#include "host/git/tracked_search.h"

#include <gtest/gtest.h>

#include <map>

namespace cordon {
namespace {

std::string raw(const std::string& id) {
  std::string bytes;
  for (std::size_t i = 0; i < id.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

// A repository in memory, whose objects can be forged.
class Repository {
 public:
  explicit Repository(GitHash hash = GitHash::Sha1) : hash_(hash) {}

  std::string put(const std::string& type, const std::string& content) {
    const std::string id = git_object_id(hash_, type, content);
    objects_[id] = content;
    return id;
  }
  std::string blob(const std::string& content) const {
    return git_object_id(hash_, "blob", content);
  }
  std::string tree(const std::string& mode, const std::string& name, const std::string& id) {
    return put("tree", mode + " " + name + std::string(1, '\0') + raw(id));
  }
  std::string commit(const std::string& tree, const std::vector<std::string>& parents) {
    std::string text = "tree " + tree + "\n";
    for (const std::string& parent : parents) text += "parent " + parent + "\n";
    return put("commit", text + "author a <a> 1 +0000\n\nparent " + std::string(40, 'f') + "\n");
  }
  // A commit with .vscode/tasks.json of that content.
  std::string with(const std::string& content, const std::vector<std::string>& parents,
                   const std::string& mode = "100644") {
    return commit(tree("40000", ".vscode", tree(mode, "tasks.json", blob(content))), parents);
  }
  void forge(const std::string& id, const std::string& content) { objects_[id] = content; }

  std::optional<TrackedPlace> find(const std::string& tip, const TrackedFile& file,
                                   const std::set<std::string>& written = {}) const {
    TrackedSearch search(
        [&](const std::string& id, std::string_view) -> std::optional<std::string> {
          ++asked;
          const auto found = objects_.find(id);
          return found != objects_.end() ? std::optional(found->second) : std::nullopt;
        },
        [&](const std::string& id) { return written.contains(id); });
    return search.find({{"main", tip, true}}, {file}).front();
  }
  TrackedFile wanted(const std::string& content, bool executable = false) const {
    return {".vscode/tasks.json", blob(content), executable};
  }
  const std::string& at(const std::string& id) const { return objects_.at(id); }
  mutable int asked = 0;

 private:
  GitHash hash_;
  std::map<std::string, std::string> objects_;
};

TEST(GitObject, HasTheIdThatGitGivesIt) {
  EXPECT_EQ(git_object_id(GitHash::Sha1, "blob", "hello\n"),
            "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(git_object_id(GitHash::Sha256, "blob", "hello\n"),
            "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4");
  EXPECT_EQ(git_object_id(GitHash::Sha1, "tree", ""), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
}

TEST(GitObject, ATreeIsReadWholeOrNotAtAll) {
  const std::string id(40, '1');
  const std::string one = std::string("100644 a") + '\0' + raw(id);
  EXPECT_EQ(find_in_git_tree(one, "a", GitHash::Sha1)->id, id);
  EXPECT_EQ(find_in_git_tree(one, "b", GitHash::Sha1), std::nullopt);
  EXPECT_EQ(find_in_git_tree(one + one, "a", GitHash::Sha1), std::nullopt);
  EXPECT_EQ(find_in_git_tree(one.substr(0, one.size() - 1), "a", GitHash::Sha1), std::nullopt);
  EXPECT_EQ(find_in_git_tree(one, "a", GitHash::Sha256), std::nullopt);
}

TEST(TrackedSearch, FindsAFileAtATipAndBehindIt) {
  for (const GitHash hash : {GitHash::Sha1, GitHash::Sha256}) {
    Repository repository(hash);
    const std::string first = repository.with("old", {});
    const std::string second = repository.with("new", {first});
    const auto at_tip = repository.find(second, repository.wanted("new"));
    ASSERT_TRUE(at_tip);
    EXPECT_EQ(at_tip->branch, "main");
    EXPECT_EQ(at_tip->commit, second);
    EXPECT_EQ(repository.find(second, repository.wanted("old"))->commit, first);
    EXPECT_FALSE(repository.find(first, repository.wanted("new")));
  }
}

TEST(TrackedSearch, WantsTheSamePathAndMode) {
  Repository repository;
  const std::string plain = repository.with("x", {});
  const std::string program = repository.with("y", {}, "100755");
  EXPECT_TRUE(repository.find(plain, repository.wanted("x")));
  EXPECT_FALSE(repository.find(plain, repository.wanted("x", true)));
  EXPECT_TRUE(repository.find(program, repository.wanted("y", true)));
  EXPECT_FALSE(repository.find(program, repository.wanted("y")));
  TrackedFile elsewhere = repository.wanted("x");
  for (const char* path : {"tasks.json", ".vscode", ".vscode/tasks.json/x", ".vscode/other",
                           "a/.vscode/tasks.json", ".vscode//tasks.json", ""}) {
    elsewhere.path = path;
    EXPECT_FALSE(repository.find(plain, elsewhere)) << path;
  }
  EXPECT_FALSE(repository.find(repository.with("z", {}, "120000"), repository.wanted("z")));
}

TEST(TrackedSearch, BelievesNoForgedObject) {
  Repository repository;
  const std::string tip = repository.with("good", {});
  const std::string evil = repository.with("evil", {});
  ASSERT_FALSE(repository.find(tip, repository.wanted("evil")));
  // The commit itself.
  Repository commit = repository;
  commit.forge(tip, commit.at(evil));
  EXPECT_FALSE(commit.find(tip, commit.wanted("evil")));
  // The tree that it names, and the one below.
  const auto root = [&](const std::string& id) {
    return parse_git_commit(repository.at(id), GitHash::Sha1)->tree;
  };
  Repository tree = repository;
  tree.forge(root(tip), tree.at(root(evil)));
  EXPECT_FALSE(tree.find(tip, tree.wanted("evil")));
  const auto below = [&](const std::string& id) {
    return find_in_git_tree(repository.at(root(id)), ".vscode", GitHash::Sha1)->id;
  };
  Repository inner = repository;
  inner.forge(below(tip), inner.at(below(evil)));
  EXPECT_FALSE(inner.find(tip, inner.wanted("evil")));
  // A commit under another type has another hash.
  Repository type = repository;
  type.put("blob", type.at(evil));
  EXPECT_FALSE(type.find(git_object_id(GitHash::Sha1, "blob", type.at(evil)), type.wanted("evil")));
}

TEST(TrackedSearch, DoesNotPassACommitThatARunLeftAsATip) {
  Repository repository;
  const std::string own = repository.with("own", {});
  const std::string planted = repository.with("planted", {own});
  const std::string taken_out = repository.with("own", {planted});
  const std::string on_top = repository.with("newer", {taken_out});
  ASSERT_TRUE(repository.find(on_top, repository.wanted("planted")));
  EXPECT_FALSE(repository.find(on_top, repository.wanted("planted"), {taken_out}));
  EXPECT_FALSE(repository.find(taken_out, repository.wanted("planted"), {taken_out}));
  EXPECT_TRUE(repository.find(on_top, repository.wanted("newer"), {taken_out}));
}

TEST(TrackedSearch, LooksAtABoundedNumberOfCommits) {
  Repository repository;
  std::string tip = repository.with("first", {});
  for (int i = 0; i < 5000; ++i) {
    tip = repository.commit(repository.tree("100644", "n", repository.blob(std::to_string(i % 7))),
                            {tip});
  }
  EXPECT_FALSE(repository.find(tip, repository.wanted("first")));
  EXPECT_LE(repository.asked, static_cast<int>(kMostSearchedCommits) + 100);
}

}  // namespace
}  // namespace cordon
