#include "config/changes_schema.h"

namespace cordon {
namespace {

constexpr std::string_view kChangesSchema =
#include "changes_schema.inc"
    ;

}  // namespace

std::string_view changes_schema() { return kChangesSchema; }

}  // namespace cordon
