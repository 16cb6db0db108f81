// From which version of Landlock's interface on a right can be given or withheld.
#pragma once

namespace cordon {

inline constexpr int kAbiWithRefer = 2;
inline constexpr int kAbiWithTruncate = 3;
inline constexpr int kAbiWithIoctl = 5;
inline constexpr int kAbiWithScopes = 6;  // signals and abstract sockets; Linux 6.12

}  // namespace cordon
