// Linked into every program of ours. The leak check at exit traces the process, which costs seconds
// and is refused inside a sandbox.
#ifdef __SANITIZE_ADDRESS__
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif
