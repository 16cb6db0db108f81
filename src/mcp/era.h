// The two eras of the protocol. Modern: every request stands alone and names its version in _meta.
// Legacy: a handshake settles a version for the connection.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace cordon::mcp {

enum class Era { Legacy, Modern };

inline constexpr std::string_view kModernVersion = "2026-07-28";
// Newest first. 2025-03-26 is left out: it alone obliges a server to take batches.
inline constexpr std::array<std::string_view, 3> kLegacyVersions = {"2025-11-25", "2025-06-18",
                                                                    "2024-11-05"};

namespace meta {
inline constexpr std::string_view kVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kCapabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view kLogLevel = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view kClientInfo = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view kServerInfo = "io.modelcontextprotocol/serverInfo";
}  // namespace meta

enum class LogLevel { Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency };
std::string_view name_of(LogLevel level);
std::optional<LogLevel> log_level(std::string_view name);

}  // namespace cordon::mcp
