// What a runtime has mounted, compared with what its bundle asks for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cordon::engine {

// The first place where a container shows what nobody asked for: no mount of the bundle's document,
// none that every container has, and none that the host has below what is bound there. `mounted`
// and `of_host` are texts of mountinfo, `bundle` is where the document lies. "/" if one of them
// cannot be read; nothing if all is as it should be.
std::optional<std::string> unasked_mount(std::string_view document, const std::string& bundle,
                                         std::string_view mounted, std::string_view of_host);

// The first place where the host has a mount below what is bound, and the container has none: what
// it covers on the host would be seen, and what is written there be covered again.
std::optional<std::string> missing_mount(std::string_view document, const std::string& bundle,
                                         std::string_view mounted, std::string_view of_host);

}  // namespace cordon::engine
