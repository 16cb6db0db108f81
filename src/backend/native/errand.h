// Errands: bind calls of the command that the supervisor lets be made inside. Each is made by a
// short-lived child of the first process with the command's own rights: its identity, its view of
// files, its Landlock rules, no capability. The supervisor has more of all of these, so it cannot
// make the call itself.
#pragma once

namespace cordon::sys {
struct Passed;
}

namespace cordon::native {

struct Order;

// In the first process. Closes what was passed. `ruleset` is negative without Landlock. Whatever
// fails is told to the supervisor by the errand's pipe, or by its end.
void run_errand(const Order& order, const sys::Passed& passed, int ruleset);

// In the supervisor, from any thread: sends the order and waits for its errno, 0 if it was done.
// `directory` is negative if the address names no file.
int send_errand(int channel, int socket, int directory, const Order& order);

}  // namespace cordon::native
