// The parts of the benchmark. Each measures one matter and adds its figures to the page. Targets
// stand where the figure is made.
#pragma once

#include <string>

#include "machine.h"
#include "page.h"
#include "sampling.h"

namespace bench {

struct Subject {
  std::string cordon;  // the binary under test
  std::string load;    // bench_load
  unsigned rounds = 0;
  unsigned tree_files = 0;
  const Scratch& scratch;

  [[nodiscard]] Command bare() const;
  [[nodiscard]] Command bwrap() const;
  // `cordon run OPTIONS -- /bin/true` in a directory.
  [[nodiscard]] Command run(const std::string& name, const std::vector<std::string>& options,
                            const std::string& directory) const;
  [[nodiscard]] Command strict() const;
};

// costs.cc: what it costs to start.
void measure_launch(const Subject& subject, Page& page);
void measure_mounts(const Subject& subject, Page& page);
void measure_trees(const Subject& subject, Page& page);
void measure_grants_and_limits(const Subject& subject, Page& page);
void measure_library(const Subject& subject, Page& page);
void measure_sessions(const Subject& subject, Page& page);
void measure_throughput(const Subject& subject, Page& page);

// workload.cc: what it costs while it runs and when it ends.
void measure_steady_state(const Subject& subject, Page& page);
void measure_watched(const Subject& subject, Page& page);
void measure_memory(const Subject& subject, Page& page);
void measure_kill(const Subject& subject, Page& page);

// prices.cc: what the kernel alone asks for the parts of a launch.
void measure_prices(const Subject& subject, Page& page);

// trees.cc: what a run costs more where many files may be written.
void measure_large_trees(const Subject& subject, Page& page);

// stage.cc: what a stage costs beside the same run without one.
void measure_stages(const Subject& subject, Page& page);

}  // namespace bench
