// What a team costs: wake-ups, runs that follow each other, and the waits inside a run.
//
//   bench_team [THREADS] [SPIN_US]
//
// Wall time, medians: run it on a machine that does nothing else. For each gap between two runs of an empty function:
// the time of a run. With a gap below SPIN_US members still spin; above they sleep and are woken. Then, for the phases
// inside a run (plugins/cpu_avx512/sync.h), the time of one with an item a member.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "core/backend/host.h"
#include "plugins/cpu_avx512/sync.h"

namespace motley {
namespace {

using Clock = std::chrono::steady_clock;

double MicrosSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

struct Spread {
  double median, ninth;  // of ten
};
Spread Of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values[values.size() * 9 / 10]};
}

// The caller works between two runs, so that its CPU stays awake, as a sampler does.
void Work(double micros) {
  const auto start = Clock::now();
  while (MicrosSince(start) < micros) {
  }
}

void Nothing(void*, uint32_t, uint32_t) {}

void PrintRuns(const motley_host* host, motley_team* team) {
  std::puts("gap us    run us: median   of ten the ninth");
  for (const double gap : {0.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 10000.0}) {
    std::vector<double> times;
    for (int i = 0; i < (gap > 1000 ? 100 : 1000); ++i) {
      Work(gap);
      const auto start = Clock::now();
      host->team_run(team, Nothing, nullptr);
      times.push_back(MicrosSince(start));
    }
    const Spread s = Of(times);
    std::printf("%6.0f %16.2f %16.2f\n", gap, s.median, s.ninth);
  }
}

constexpr int kPhases = 1000;

void PrintPhases(const motley_host* host, motley_team* team) {
  std::puts("item us   phase us: median   of ten the ninth   (an item a member; less the item)");
  for (const double item : {0.0, 1.0, 5.0, 20.0}) {
    struct Job {
      std::vector<cpu::Phase> phases{kPhases};
      double item;
    } job;
    job.item = item;
    std::vector<double> times;
    for (int i = 0; i < 21; ++i) {
      for (cpu::Phase& phase : job.phases) phase.Reset();
      const auto start = Clock::now();
      host->team_run(
          team,
          [](void* arg, uint32_t, uint32_t n) {
            Job& job = *static_cast<Job*>(arg);
            for (cpu::Phase& phase : job.phases) phase.Run(n, 1, [&](int64_t, int64_t) { Work(job.item); });
          },
          &job);
      times.push_back(MicrosSince(start) / kPhases - item);
    }
    const Spread s = Of(times);
    std::printf("%7.0f %17.2f %18.2f\n", item, s.median, s.ninth);
  }
}

int Main(int argc, char** argv) {
  HostOptions options;
  if (argc > 1) options.threads = static_cast<uint32_t>(std::atoi(argv[1]));
  if (argc > 2) options.spin_us = static_cast<uint32_t>(std::atoi(argv[2]));
  Logger logger(LogLevel::kWarning);
  Host host(logger, options);
  const motley_host* table = host.LendTo("bench");
  motley_team* team = nullptr;
  if (table->team_create(table->self, host.threads(), -1, &team) != MOTLEY_OK) return std::puts("no team"), 1;
  std::printf("%u threads on %u CPUs, spin %u us\n", host.threads(), host.allowance().threads(), options.spin_us);
  PrintRuns(table, team);
  PrintPhases(table, team);
  table->team_destroy(team);
  return 0;
}

}  // namespace
}  // namespace motley

int main(int argc, char** argv) { return motley::Main(argc, argv); }
