#include "sys/quota.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

namespace cordon::sys {

std::uint32_t quota_project(int fd) {
  struct fsxattr attributes {};
  return ::ioctl(fd, FS_IOC_FSGETXATTR, &attributes) == 0 ? attributes.fsx_projid : 0;
}

}  // namespace cordon::sys
