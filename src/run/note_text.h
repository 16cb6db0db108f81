// The text of a run's note (run/run_note.h): what a later start has to know of a run that was
// killed. One line of JSON is the note; each further line is the mark of a process that was
// started.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/survey.h"
#include "policy/host_facts.h"

namespace cordon {

// Ids, pids, paths of cgroups and of writable roots; never argv or output.
struct NoteContent {
  std::string run_id;
  std::vector<std::string> cgroups;
  std::string private_directory;     // of this run alone, to be removed with all it holds; or empty
  std::string stage_directory;       // of a staged run, to be shown to the person; or empty
  std::vector<std::string> lasting;  // the home and the caches that it uses
  std::string kept_directory;        // what was kept of protected files, to be put back; or empty
  bool holds_by_mounts = true;       // false: every protected file is kept and put back instead
  pid_t writer = 0;                  // of a note that was read
  std::vector<Grant> writable;
  std::vector<DenyGlob> deny;
  TreeSnapshot snapshot;
  std::vector<SearchRoot> roots;  // of `writable`, those that are searched; no descriptors
  // The tips of local branches in the writable trees before the run; absent: they are not known.
  std::optional<std::set<std::string>> tips;
};

std::string write_note(const NoteContent& content);
// Nothing if it cannot be read. Notes of earlier releases can.
std::optional<NoteContent> read_note(const std::string& file);

// A process as a note names it: its number with the time of its start, which tells it from a later
// one with the same number.
struct ProcessMark {
  pid_t parent = 0;
  std::string text;  // "PID START"
};

// Nothing of a process that is gone, and of one whose every thread has ended: the first process of
// a pid namespace gets there after everything in it.
std::optional<ProcessMark> mark_of(pid_t process);
// Those in the text of a note.
std::vector<std::string> marks_in(const std::string& note);
bool lives(const std::string& mark);

}  // namespace cordon
