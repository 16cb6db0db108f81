// Scope: what stands for a pid namespace where there is none. A process that enters one can signal
// what descends from it and nothing else, so that kill(-1) reaches its sandbox and nobody beside
// it; and it adopts every orphan of its sandbox. No allocation.
#pragma once

namespace cordon::native {

// 0, or -errno. Not before this has succeeded may the caller send a signal to all. It is proved by
// an attempt on the parent, which could be signalled before.
int scope_processes();

}  // namespace cordon::native
