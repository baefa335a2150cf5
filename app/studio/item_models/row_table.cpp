// SPDX-License-Identifier: Apache-2.0
// Home of the base's meta object.
#include "app/studio/item_models/row_table.h"
