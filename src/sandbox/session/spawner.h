// The spawner: what Cordon itself runs inside the sandbox of a session, as the session's command.
#pragma once

namespace cordon::session {

// Starts a command for every order that comes over standard input, until that ends. Returns the
// exit status of cordon-inside.
int spawn_inside();

}  // namespace cordon::session
