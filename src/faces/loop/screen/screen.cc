#include "faces/loop/screen/screen.h"

#define NCURSES_NOMACROS  // its functions are called as such
#include <curses.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <clocale>
#include <cstdlib>
#include <string_view>

#include "faces/cli/console.h"

namespace cordon::loop {
namespace {

// The terminal in the state that painting needs; as it was, when this ends.
class Terminal {
 public:
  Terminal() {
    std::setlocale(LC_CTYPE, "");
    ::initscr();
    ::cbreak();
    ::noecho();
    ::keypad(stdscr, TRUE);
    ::nodelay(stdscr, TRUE);
    ::curs_set(0);
    if (::has_colors() == TRUE && uses_colors(STDOUT_FILENO)) {
      ::start_color();
      ::use_default_colors();
      ::init_pair(1, COLOR_GREEN, -1);
      ::init_pair(2, COLOR_RED, -1);
    }
  }
  ~Terminal() { ::endwin(); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
};

unsigned attributes_of(ScreenStyle style) {
  const bool colours = ::has_colors() == TRUE && uses_colors(STDOUT_FILENO);
  switch (style) {
    case ScreenStyle::Plain:
      return A_NORMAL;
    case ScreenStyle::Title:
    case ScreenStyle::Current:
      return A_BOLD;
    case ScreenStyle::Quiet:
      return A_DIM;
    case ScreenStyle::Keys:
      return A_REVERSE;
    case ScreenStyle::Good:
      return colours ? static_cast<unsigned>(COLOR_PAIR(1)) : A_BOLD;
    case ScreenStyle::Bad:
      return colours ? static_cast<unsigned>(COLOR_PAIR(2)) | A_BOLD : A_REVERSE;
  }
  return A_NORMAL;
}

}  // namespace

bool can_paint() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && term != nullptr &&
         std::string_view(term) != "dumb" && *term != '\0';
}

Result<std::unique_ptr<Screen>> Screen::open(Control& control) {
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return fail(setup_error("cannot watch the loop", errno));
  return std::make_unique<Screen>(control, std::move(wake));
}

void Screen::wake() const {
  const std::uint64_t one = 1;
  // A full counter wakes as well.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void Screen::show(const LoopEvent& event) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  }
  wake();
}

void Screen::leave_at_end() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  wake();
}

void Screen::take_events() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t drained = ::read(wake_.get(), &count, sizeof count);
  std::deque<LoopEvent> events;
  bool leaving = false;
  {
    const std::lock_guard lock(mutex_);
    events.swap(events_);
    leaving = leaving_;
  }
  for (const LoopEvent& event : events) model_.apply(event);
  if (leaving && model_.ended()) left_ = true;
}

void Screen::take_keys() {
  for (int key = ::getch(); key != ERR; key = ::getch()) {
    switch (model_.press(key)) {
      case ScreenAction::None:
        break;
      case ScreenAction::Pause:
        control_.pause();
        break;
      case ScreenAction::Resume:
        control_.resume();
        break;
      case ScreenAction::Skip:
        control_.skip();
        break;
      case ScreenAction::Quit:
        control_.quit();
        leave_at_end();
        break;
      case ScreenAction::Leave:
        left_ = true;
        break;
    }
  }
}

void Screen::paint(std::uint64_t seconds) const {
  const int height = getmaxy(stdscr);
  const int width = getmaxx(stdscr);
  if (height <= 0 || width <= 0) return;
  ::erase();
  int row = 0;
  for (const ScreenLine& line :
       model_.lines(static_cast<std::size_t>(width), static_cast<std::size_t>(height), seconds)) {
    const unsigned attributes = attributes_of(line.style);
    ::attron(static_cast<int>(attributes));
    ::mvaddstr(row++, 0, line.text.c_str());
    ::attroff(static_cast<int>(attributes));
  }
  ::refresh();
}

void Screen::run() {
  constexpr int kTickMs = 500;  // the clock goes on although nothing happens
  const Terminal terminal;
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t seconds = 0;
  pollfd watched[] = {{STDIN_FILENO, POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  while (!left_) {
    paint(seconds);
    // A change of the window's size interrupts it.
    const int ready = ::poll(watched, 2, kTickMs);
    if (ready > 0 && (watched[0].revents & (POLLHUP | POLLERR)) != 0) {
      // The terminal is gone: nobody could say anything any more.
      watched[0].fd = -1;
      control_.quit();
      leave_at_end();
    }
    take_keys();
    take_events();
    if (!model_.ended()) {
      const auto passed = std::chrono::steady_clock::now() - began;
      seconds = static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::seconds>(passed).count());
    }
  }
}

}  // namespace cordon::loop
