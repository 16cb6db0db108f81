// Timing of processes: from posix_spawn, with standard streams on /dev/null, until they are reaped.
// Commands that are to be compared are measured in turn, in a new random order each round, and each
// only once nothing else on the machine wants to run.
#pragma once

#include <string>
#include <vector>

namespace bench {

struct Command {
  std::string name;
  std::vector<std::string> argv;
  std::string directory;
};

// Microseconds of each sample.
struct Samples {
  std::string name;
  std::vector<double> values;
  [[nodiscard]] double median() const;
  [[nodiscard]] double percentile(double share) const;
};

struct Measured {
  std::vector<Samples> commands;  // in the order in which they were given
  unsigned disturbed = 0;         // samples before which the machine did not become quiet
};

// Where the commands find their home; every other variable is the same on every machine.
void use_home(const std::string& home);

// Ends the program with an explanation if the command does not succeed.
double spawn_once(const Command& command);
// The first round is dropped.
Measured interleave(const std::vector<Command>& commands, unsigned rounds);
// Waits until only this process is runnable, three looks in a row; false if it gave up.
bool wait_for_quiet();
// Microseconds since some fixed moment.
double now();

// A median with the spread around it, as a table shows it.
std::string summary(const Samples& samples);

}  // namespace bench
