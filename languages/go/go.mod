// SPDX-License-Identifier: LGPL-2.1-or-later
module vperfctr

go 1.19
