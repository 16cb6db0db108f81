#include "ship/target.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace cordon::ship {
namespace {

constexpr std::string_view kHowToLogIn =
    "leave it out: libpq reads a password from ~/.pgpass or PGPASSFILE, and a client certificate "
    "from sslcert and sslkey";

Error password_refused() {
  return usage_error("the address holds a password, which everybody on this host can read",
                     std::string(kHowToLogIn));
}

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char low = lower_case(c);
  if (low >= 'a' && low <= 'f') return low - 'a' + 10;
  return std::nullopt;
}

bool is_secret(std::string_view keyword) {
  return keyword == "password" || keyword == "sslpassword" || keyword == "oauth_client_secret";
}

// "/run/postgresql", "@name", and of several hosts each.
bool is_local(std::string_view hosts) {
  return std::ranges::all_of(split(hosts, ','), [](std::string_view host) {
    return host.starts_with('/') || host.starts_with('@');
  });
}

// The settings that were given.
using Settings = std::vector<std::pair<std::string, std::string>>;

Result<Settings> parsed(const Libpq& pq, const std::string& address) {
  char* why = nullptr;
  PgSetting* const all = pq.parse(address.c_str(), &why);
  if (all == nullptr) {
    std::string text = why == nullptr ? "out of memory" : why;
    if (why != nullptr) pq.free_memory(why);
    while (text.ends_with('\n')) text.pop_back();
    return fail(usage_error("libpq cannot read the address: " + sanitize(text),
                            "write postgresql://USER@HOST/DATABASE"));
  }
  Settings given;
  for (const PgSetting* setting = all; setting->keyword != nullptr; ++setting) {
    if (setting->value != nullptr && setting->value[0] != '\0')
      given.emplace_back(setting->keyword, setting->value);
  }
  pq.free_settings(all);
  return given;
}

std::string value_of(const Settings& settings, std::string_view keyword) {
  const auto found = std::ranges::find(settings, keyword, &Settings::value_type::first);
  return found == settings.end() ? std::string() : found->second;
}

void put(Settings& settings, const std::string& keyword, const std::string& value) {
  std::erase_if(settings, [&](const auto& setting) { return setting.first == keyword; });
  settings.emplace_back(keyword, value);
}

void put_if_absent(Settings& settings, const std::string& keyword, const std::string& value) {
  if (value_of(settings, keyword).empty()) settings.emplace_back(keyword, value);
}

}  // namespace

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
    const auto low = high ? hex_digit(text[i + 2]) : std::nullopt;
    if (high && low) {
      out.push_back(static_cast<char>(*high * 16 + *low));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

Result<void> check_address(std::string_view address) {
  std::string_view rest = address;
  for (const std::string_view scheme : {"postgresql://", "postgres://"}) {
    if (!rest.starts_with(scheme)) continue;
    rest.remove_prefix(scheme.size());
    // A password may hold what otherwise ends the part before the host: the last '@' counts.
    const std::size_t query = std::min(rest.find('?'), rest.size());
    const std::size_t at = rest.substr(0, query).rfind('@');
    if (at != std::string_view::npos && rest.substr(0, at).find(':') != std::string_view::npos)
      return fail(password_refused());
    for (std::size_t from = query; from < rest.size();) {
      const std::size_t end = std::min(rest.find('&', from + 1), rest.size());
      const std::string_view one = rest.substr(from + 1, end - from - 1);
      if (is_secret(percent_decoded(one.substr(0, one.find('='))))) return fail(password_refused());
      from = end;
    }
    return {};
  }
  // What was typed may hold a password, so it is not repeated.
  return fail(usage_error("the address does not begin with postgresql://",
                          "write postgresql://USER@HOST/DATABASE; cordon audit ship also copies to "
                          "otlp+https://HOST:PORT"));
}

Result<Target> read_target(const Libpq& pq, const std::string& address) {
  CORDON_TRY(given, parsed(pq, address));
  if (std::ranges::any_of(given, [](const auto& setting) { return is_secret(setting.first); }))
    return fail(password_refused());
  const std::string host = value_of(given, "host");
  const bool local = !host.empty() && is_local(host) && value_of(given, "hostaddr").empty();
  const std::string mode = value_of(given, "sslmode");
  if (!mode.empty() && mode != "verify-full" && !local) {
    return fail(usage_error(
        "sslmode=" + sanitize(mode) + " does not check who answers",
        "over a network only sslmode=verify-full is used, which is also the default: leave it "
        "out, and name the authority with sslrootcert"));
  }
  Target target;
  target.shown = (value_of(given, "dbname").empty() ? std::string("the default database")
                                                    : value_of(given, "dbname")) +
                 " at " + (host.empty() ? std::string("the default host") : host);
  if (const std::string port = value_of(given, "port"); !port.empty()) target.shown += ":" + port;
  target.settings = std::move(given);
  // Said in any case, so that neither PGSSLMODE nor a service file says otherwise. Over a socket of
  // this host libpq passes over it. Encryption by Kerberos would take the place of TLS without a
  // word.
  put(target.settings, "sslmode", "verify-full");
  put(target.settings, "gssencmode", "disable");
  put(target.settings, "client_encoding", "UTF8");
  put_if_absent(target.settings, "connect_timeout", "10");
  put_if_absent(target.settings, "fallback_application_name", "cordon-ship");
  return target;
}

}  // namespace cordon::ship
