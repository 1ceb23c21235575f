; Remedies of two herbs each: scooped, ground in a mortar, filled into vials, corked.
(define (domain apothecary)
  (:requirements :strips :typing)
  (:types hand jar herb remedy vessel - object mortar vial - vessel)
  (:predicates (standing ?v - vessel) (held ?v - vessel ?h - hand) (idle ?h - hand)
               (stocked ?j - jar ?i - herb) (blank ?v - vessel) (rinsed ?v - vessel)
               (first ?m - mortar ?i - herb) (second ?m - mortar ?i - herb) (half ?m - mortar)
               (paste ?m - mortar ?r - remedy) (filled ?v - vial ?r - remedy) (corked ?v - vial)
               (recipe-first ?r - remedy ?i - herb) (recipe-second ?r - remedy ?i - herb))
  (:action lift
    :parameters (?v - vessel ?h - hand)
    :precondition (and (standing ?v) (idle ?h))
    :effect (and (held ?v ?h) (not (standing ?v)) (not (idle ?h))))
  (:action set-down
    :parameters (?v - vessel ?h - hand)
    :precondition (held ?v ?h)
    :effect (and (standing ?v) (idle ?h) (not (held ?v ?h))))
  (:action begin
    :parameters (?m - mortar ?i - herb ?j - jar ?h - hand)
    :precondition (and (stocked ?j ?i) (standing ?m) (blank ?m) (rinsed ?m) (idle ?h))
    :effect (and (first ?m ?i) (half ?m) (not (blank ?m)) (not (rinsed ?m))))
  (:action add
    :parameters (?m - mortar ?i - herb ?j - jar ?h - hand)
    :precondition (and (stocked ?j ?i) (standing ?m) (half ?m) (idle ?h))
    :effect (and (second ?m ?i) (not (half ?m))))
  (:action grind
    :parameters (?r - remedy ?a - herb ?b - herb ?m - mortar ?h - hand ?k - hand)
    :precondition (and (held ?m ?h) (idle ?k) (first ?m ?a) (second ?m ?b)
                       (recipe-first ?r ?a) (recipe-second ?r ?b))
    :effect (and (paste ?m ?r) (not (first ?m ?a)) (not (second ?m ?b))))
  (:action fill
    :parameters (?v - vial ?r - remedy ?m - mortar ?h - hand)
    :precondition (and (held ?m ?h) (paste ?m ?r) (standing ?v) (blank ?v) (rinsed ?v))
    :effect (and (filled ?v ?r) (blank ?m)
                 (not (paste ?m ?r)) (not (blank ?v)) (not (rinsed ?v))))
  (:action rinse
    :parameters (?v - vessel ?h - hand ?k - hand)
    :precondition (and (held ?v ?h) (idle ?k) (blank ?v))
    :effect (rinsed ?v))
  (:action pour-away
    :parameters (?v - vial ?r - remedy ?h - hand)
    :precondition (and (held ?v ?h) (filled ?v ?r))
    :effect (and (blank ?v) (not (filled ?v ?r))))
  (:action cork
    :parameters (?v - vial ?r - remedy ?h - hand ?k - hand)
    :precondition (and (held ?v ?h) (idle ?k) (filled ?v ?r))
    :effect (corked ?v)))
