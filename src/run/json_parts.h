// Pieces of JSON that several answers share.
#pragma once

#include <string>
#include <vector>

#include "config/node.h"
#include "cordon/error.h"
#include "cordon/loss.h"
#include "cordon/outcome.h"

namespace cordon {

Node reductions_list(const std::vector<Reduction>& reductions);
Node error_object(const Error& error);
// Their names.
Node loss_list(const std::vector<Loss>& lost);
Node text_list(const std::vector<std::string>& texts);

}  // namespace cordon
